#include "plan/make_plan.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::map<std::string, std::string> values_of(const Placement& placement, const std::string& wanted_interfaces = "",
                                             const MpirunWords& words = {}) {
  Snapshot snapshot;
  snapshot.variables["MY_MPI_BTL_TCP_IF"] = wanted_interfaces;
  snapshot.interfaces = {"eth0", "lo"};
  snapshot.host_name = "w-0.job";
  snapshot.cores.count = 4;
  std::map<std::string, std::string> values;
  add_mpirun_values(values, placement, snapshot, {}, words);
  return values;
}

TEST(MpirunValues, SayNothingOfInterfacesWhereTheUserExcludesSome) {
  Placement placement;
  placement.nodes = 2;
  placement.is_decided = true;
  placement.ports = {{"10.0.0.1", {}, 1, "a"}, {"10.0.0.2", {}, 1, "b"}};
  Snapshot snapshot;
  snapshot.variables["OMPI_MCA_oob_tcp_if_exclude"] = "docker0,lo";
  std::map<std::string, std::string> values;

  add_mpirun_values(values, placement, snapshot, {}, {});
  EXPECT_EQ(values.at("networks"), "");
  EXPECT_EQ(values.at("interfaces"), "10.0.0.0/30");

  add_mpirun_values(values, placement, Snapshot(), {{"OMPI_MCA_btl_tcp_if_exclude", "lo"}}, {});
  EXPECT_EQ(values.at("networks"), "10.0.0.0/30");
  EXPECT_EQ(values.at("interfaces"), "");
}

TEST(MpirunValues, OfOneNodeAreItsOwn) {
  Placement placement;
  placement.slots_here = 8;
  placement.slots_total = 8;

  const auto values = values_of(placement);

  EXPECT_EQ(values.at("hostfile"), "w-0.job slots=8\n");
  EXPECT_EQ(values.at("networks"), "");
  EXPECT_EQ(values.at("interfaces"), "");
  EXPECT_EQ(values.at("oversubscribed"), "1");
  EXPECT_EQ(values.at("slots"), "8");
  EXPECT_EQ(values.at("mpirun_processes"), "8");
  EXPECT_EQ(values.at("mpirun_mapping"), "slot");
}

TEST(MpirunValues, DoNotOverrideGivenMpirunOptions) {
  Placement placement;
  placement.slots_total = 8;
  MpirunWords words;
  words.processes = "3";
  words.sets_places = true;

  const auto values = values_of(placement, "", words);

  EXPECT_EQ(values.at("mpirun_processes"), "3");
  EXPECT_EQ(values.at("mpirun_mapping"), "");
}

TEST(MpirunValues, OfSeveralNodesAreWhatTheyHaveSaid) {
  Placement placement;
  placement.nodes = 3;
  placement.slots_here = 4;
  placement.slots_total = 9;
  placement.is_decided = true;
  placement.ports = {
      {"10.0.0.1", {}, 4, "w-0.job"}, {"10.0.0.2", {5000}, 4, "w-1.job"}, {"10.0.0.9", {5000}, 1, "w-1.job"}};

  const auto values = values_of(placement);

  EXPECT_EQ(values.at("hostfile"), "w-0.job slots=4\nw-1.job slots=4\nw-1.job-node2 slots=1\n");
  EXPECT_EQ(values.at("networks"), "10.0.0.0/28");
  EXPECT_EQ(values.at("interfaces"), "10.0.0.0/28");
  EXPECT_EQ(values.at("oversubscribed"), "");
  EXPECT_EQ(values.at("slots"), "9");
}

TEST(MpirunValues, OfSeveralNodesAreNotKnownBeforeTheyMeet) {
  Placement placement;
  placement.nodes = 2;

  const auto values = values_of(placement);

  EXPECT_EQ(readable(values.at("hostfile")), "{hostfile}");
  EXPECT_EQ(readable(values.at("networks")), "{networks}");
  EXPECT_EQ(readable(values.at("interfaces")), "{interfaces}");
}

TEST(MpirunValues, OfInterfacesAreThoseOfTheUsersChoiceThatAreHere) {
  Placement placement;
  placement.nodes = 2;
  EXPECT_EQ(values_of(placement, "bond0,eth0").at("interfaces"), "eth0");
  EXPECT_EQ(readable(values_of(placement, "bond0").at("interfaces")), "{interfaces}");
  placement.nodes = 1;
  EXPECT_EQ(values_of(placement, "eth0").at("interfaces"), "");
}

}  // namespace
}  // namespace muster
