// Command lines of muster and of the launchers it stands in for, the parameters that ModelArts adds to
// them, and all texts that options may have: from tokens to the plan.
#include "base/text.hpp"
#include "fuzz.hpp"
#include "plan_job.hpp"
#include "requests.hpp"

#include <array>

namespace {

using namespace muster;

constexpr std::array<const char*, 12> kNames = {
    "muster",        "torchrun",  "msrun",  "deepspeed",         "torch.distributed.run",
    "/bin/muster-1", "x",         "mpirun", "accelerate-launch", "fleetrun",
    "colossalai",    "horovodrun"};

Snapshot surroundings(const std::string& parameters) {
  Snapshot snapshot;
  snapshot.host_name = "node";
  snapshot.working_directory = "/";
  snapshot.cores = {.count = 4, .source = "affinity"};
  if (!parameters.empty()) {
    snapshot.variables = {{"MA_RUN_METHOD", "torchrun"},
                          {"MA_NUM_HOSTS", "1"},
                          {"MA_VJ_NAME", "job"},
                          {"MA_EXTRA_TORCHRUN_PARAMS", parameters}};
  }
  return snapshot;
}

/// Options must be read or refused, and a plan made of them must be consistent.
void follow(const CommandLine& line, const Snapshot& snapshot) {
  auto options = read_options(line, snapshot);
  if (!options || line.settings.has("template")) {  // another target has those
    return;
  }
  fuzz::require(!options->job.program.empty(), "a job has a program");
  const auto planned = plan_job(line, *options, snapshot);
  if (!planned) {
    fuzz::require(!planned.error().message.empty(), "an error says what is wrong");
    return;
  }
  for (const WorkerPlan& worker : planned->plan.workers) {
    fuzz::require(!worker.argv.empty(), "a process has a program");
    fuzz::require(worker.global_rank.value < planned->plan.world_size, "global rank < world size");
  }
}

}  // namespace

/// The first byte chooses the name; then tokens, one a line; a first line that begins with "@" is what
/// ModelArts adds.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  std::vector<std::string> tokens = split(fuzz::text_of(data + 1, size - 1), '\n');
  std::string parameters;
  if (!tokens.empty() && tokens.front().starts_with('@')) {
    parameters = tokens.front().substr(1);
    tokens.erase(tokens.begin());
  }
  tokens.insert(tokens.begin(), kNames.at(data[0] % kNames.size()));
  std::vector<char*> argv;
  for (std::string& token : tokens) {
    token.erase(std::min(token.find('\0'), token.size()));
    argv.push_back(token.data());
  }
  const Snapshot snapshot = surroundings(parameters.substr(0, parameters.find('\0')));
  const auto line = read_command_line(argv, snapshot, [&](const std::string& path) {
    return path == "c" ? std::optional(parameters) : std::nullopt;  // a configuration, or hosts
  });
  if (line) {
    follow(*line, snapshot);
  } else {
    fuzz::require(!line.error().message.empty(), "an error says what is wrong");
  }
  return 0;
}
