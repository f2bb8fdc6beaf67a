// Any file given to --template, and the plan that comes of it.
#include "base/yaml.hpp"
#include "fuzz.hpp"
#include "modes/read_template.hpp"
#include "plan/launch_plan.hpp"

namespace {

muster::Cluster two_nodes() {
  muster::Cluster cluster;
  cluster.job.most_nodes = 2;
  cluster.hosts.resize(2);
  cluster.slots = {1, 2};
  cluster.node.rank = muster::NodeRank{1};
  cluster.node.slots = 2;
  cluster.master_address = "head";
  return cluster;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  auto document = parse_yaml(fuzz::text_of(data, size), "own.yaml");
  if (!document) {
    fuzz::require(document.error().message.starts_with("own.yaml"), "an error names the file");
    return 0;
  }
  static const Templates known = builtin_documents();
  const auto expanded = expand_template({std::move(*document), "own.yaml"}, known);
  if (!expanded) {
    fuzz::require(expanded.error().message.starts_with("own.yaml"), "an error names the file");
    return 0;
  }
  const auto mode = read_template(*expanded, "own.yaml");
  if (!mode) {
    fuzz::require(mode.error().message.starts_with("own.yaml"), "an error names the file");
    return 0;
  }
  fuzz::require(!mode->name.empty() && !mode->roles.empty(), "a template has a name and a role");
  JobRequest job;
  job.program = {"train"};
  const LaunchPlan plan = make_plan({two_nodes(), {*mode, from_flag("--template")}, job, Snapshot{}});
  for (const WorkerPlan& worker : plan.workers) {
    fuzz::require(worker.global_rank.value < plan.world_size, "global rank < world size");
    for (const auto& [name, value] : worker.environment) {
      fuzz::require(readable(value).find('\0') == std::string::npos, "no variable is cut short");
    }
  }
  (void)json::serialize(to_document(plan));  // for what the sanitizers say
  return 0;
}
