// What may be said to `muster status`, `stop` and `suspend`.
#include "control.hpp"

#include <array>

namespace muster {
namespace {

#define MUSTER_JOB_OPTION(SECTION)                                                         \
  {                                                                                        \
    "job", '\0', "ID|PID", SECTION,                                                        \
        "The job: its id, or the pid of muster. Needed where several run on this machine." \
  }
#define MUSTER_HELP_OPTION(SECTION) \
  { "help", 'h', nullptr, SECTION, "Print this text." }

constexpr auto kStatusTable = std::to_array<Option>({
    MUSTER_JOB_OPTION("Status"),
    {"watch", '\0', nullptr, "Status", "Show it anew every two seconds, until the job ends."},
    {"json", '\0', nullptr, "Status", "Print JSON."},
    MUSTER_HELP_OPTION("Status"),
});

constexpr auto kStopTable = std::to_array<Option>({
    MUSTER_JOB_OPTION("Stop"),
    {"grace",
     '\0',
     "SECONDS",
     "Stop",
     "Time between asking the workers to end and killing them, at most what the job was started "
     "with."},
    MUSTER_HELP_OPTION("Stop"),
});

constexpr auto kSuspendTable = std::to_array<Option>({
    MUSTER_JOB_OPTION("Suspend"),
    {"within",
     '\0',
     "SECONDS",
     "Suspend",
     "Time for the workers to save, at most the job's --suspend-timeout, which is the default."},
    {"reason", '\0', "TEXT", "Suspend", "Why, for the report and the workers."},
    {"cancel", '\0', nullptr, "Suspend", "Withdraw the notice: the job goes on."},
    MUSTER_HELP_OPTION("Suspend"),
});

#undef MUSTER_JOB_OPTION
#undef MUSTER_HELP_OPTION

}  // namespace

OptionTable control_options(Command command) {
  if (command == Command::Status) {
    return {kStatusTable, {}, {}, "muster status"};
  }
  return command == Command::Stop ? OptionTable{kStopTable, {}, {}, "muster stop"}
                                  : OptionTable{kSuspendTable, {}, {}, "muster suspend"};
}

}  // namespace muster
