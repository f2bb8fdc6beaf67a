// The lines that batch systems print of the time that is left.
#include "notices/allocation_end.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST(AllocationEnd, ReadsFluxsSeconds) {
  EXPECT_EQ(parse_flux_time_left("59"), 59s);
  EXPECT_EQ(parse_flux_time_left("0"), 0s);
  for (const char* const text : {"", "infinity", "18446744073709551615", "-1", "59.5", "1h", "flux-job: not a job"}) {
    EXPECT_FALSE(parse_flux_time_left(text)) << text;
  }
}

TEST(AllocationEnd, ReadsLsfsHoursAndMinutesOfALimit) {
  EXPECT_EQ(parse_lsf_time_left("0:01 L"), 1min);
  EXPECT_EQ(parse_lsf_time_left("240:59 L"), 240h + 59min);
  for (const char* const text :
       {"", "-", "1:00 E", "1:00 X", "1:00", "1:60 L", ":30 L", "1: L", "x:1 L", "L", " L", "99999999:00 L"}) {
    EXPECT_FALSE(parse_lsf_time_left(text)) << text;
  }
}

TEST(AllocationEnd, IsWhatSlurmSays) {
  Snapshot snapshot;
  snapshot.variables = {{"SLURM_JOB_END_TIME", "1795670000"}, {"FLUX_JOB_ID", "f3"}};
  EXPECT_EQ(find_allocation_end(snapshot, true), std::chrono::system_clock::time_point(1795670000s));
  snapshot.variables["SLURM_JOB_END_TIME"] = "Unknown";
  EXPECT_FALSE(find_allocation_end(snapshot, true));
}

TEST(AllocationEnd, RunsNoProgramUnlessAllowed) {
  Snapshot snapshot;
  snapshot.variables = {{"FLUX_JOB_ID", "f3"}};
  EXPECT_FALSE(find_allocation_end(snapshot, false));
}

}  // namespace
}  // namespace muster
