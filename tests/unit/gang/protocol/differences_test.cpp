// Differences between the options of agents: each fact of a job is compared, and a refusal shows both values.
#include "gang/protocol/roster.hpp"

#include <gtest/gtest.h>

namespace muster::gang {
namespace {

template <typename Change>
std::string difference(const Change& change) {
  JobFacts its;
  its.mode = "torchrun";
  its.template_digest = "aa";
  const JobFacts leaders = its;
  change(its);
  return describe_difference(its, leaders);
}

TEST(Differences, AreNamedWithBothValues) {
  EXPECT_EQ(difference([](JobFacts& /*same*/) {}), "");
  EXPECT_EQ(difference([](JobFacts& its) { its.job_id = "bert"; }), "its job is 'bert', the leader's is 'none'");
  EXPECT_TRUE(difference([](JobFacts& its) {
                its.are_tasks = true;
                its.most_nodes = 2;
              })
                  .starts_with("its part of a host is 'one process of several', the leader's is "
                               "'the whole host': start one process for each accelerator"));
  EXPECT_EQ(difference([](JobFacts& its) { its.mode = "ps"; }), "its mode is 'ps', the leader's is 'torchrun'");
  EXPECT_EQ(difference([](JobFacts& its) { its.template_digest = "bb"; }),
            "its template is 'torchrun, digest bb', the leader's is 'torchrun, digest aa': give all "
            "nodes the same file by --template, or for a mode that is built in the same muster, and the "
            "same --mpi-start");
  EXPECT_EQ(difference([](JobFacts& its) { its.least_nodes = 2; }),
            "its least number of nodes is '2', the leader's is '1'");
  EXPECT_EQ(difference([](JobFacts& its) { its.most_nodes = 2; }), "its number of nodes is '2', the leader's is '1'");
  EXPECT_EQ(difference([](JobFacts& its) { its.total_slots = 8; }),
            "its number of workers in all is '8', the leader's is 'not given'");
  EXPECT_EQ(difference([](JobFacts& its) {
              its.roles = {{"ps", 1}, {"worker", 2}};
            }),
            "its list of roles is 'ps=1,worker=2', the leader's is ''");
  EXPECT_EQ(difference([](JobFacts& its) {
              its.endpoints = {{"ps", {"a:1", "b:1"}}};
            }),
            "its list of endpoints is 'ps=a:1,b:1', the leader's is ''");
  EXPECT_EQ(difference([](JobFacts& its) { its.success_roles = {"worker"}; }),
            "its list of roles that decide success is 'worker', the leader's is ''");
}

TEST(Differences, ShowWhereLongListsDiffer) {
  JobFacts its;
  its.endpoints = {{"worker", std::vector<std::string>(100, "host:1")}};
  JobFacts leaders = its;
  leaders.endpoints[0].endpoints.back() = "other:1";
  EXPECT_EQ(describe_difference(its, leaders),
            "its list of endpoints is '...ost:1,host:1,host:1,host:1', the leader's is "
            "'...ost:1,host:1,host:1,other:1'");
}

TEST(Differences, AreNoneWhereOneSideKnowsNoTemplate) {
  EXPECT_EQ(difference([](JobFacts& its) { its.template_digest.clear(); }), "");
}

}  // namespace
}  // namespace muster::gang
