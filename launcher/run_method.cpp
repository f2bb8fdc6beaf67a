// How ModelArts is asked to start a job: MA_RUN_METHOD names torchrun or msrun, and other variables
// hold options for it. Which mode that is, and who the nodes are, is decided elsewhere.
#include "front_end.hpp"

namespace muster {
namespace {

constexpr const char* kMethod = "MA_RUN_METHOD";
constexpr const char* kTorchrunWords = "MA_EXTRA_TORCHRUN_PARAMS";

/// A mode of the user's own leaves nothing of the platform's.
bool is_method(const CommandLine& line, const Snapshot& snapshot, std::string_view method) {
  const auto wanted = snapshot.variable(kMethod);
  const auto mode = line.settings.find("mode");
  return wanted && *wanted == method && !line.settings.has("template") &&
         (!mode || mode->value == "auto" || mode->value == method);
}

void set_if_missing(CommandLine& line,
                    const Snapshot& snapshot,
                    const char* variable,
                    std::initializer_list<const char*> settings) {
  const auto value = snapshot.variable(variable);
  for (const char* const setting : settings) {
    if (value && !value->empty() && !line.settings.has(setting)) {
      line.settings.set(setting, {*value, variable});
    }
  }
}

/// MS_RANKTABLE_ENABLE=true brings the platform's rank table.
void set_rank_table(CommandLine& line, const Snapshot& snapshot) {
  if (snapshot.variable("MS_RANKTABLE_ENABLE") != "true") {
    return;
  }
  for (const char* const variable : {"MSRUN_RANK_TABLE_FILE", "RANK_TABLE_FILE"}) {
    set_if_missing(line, snapshot, variable, {"set:rank_table_file"});
  }
}

}  // namespace

Result<> read_run_method(CommandLine& line, const Snapshot& snapshot) {
  if (is_method(line, snapshot, "msrun")) {
    set_if_missing(line, snapshot, "MSRUN_LOG_DIR", {"log-dir"});
    set_if_missing(
        line, snapshot, "MSRUN_CLUSTER_TIME_OUT", {"set:cluster_time_out", "gang-timeout"});
    set_rank_table(line, snapshot);
  }
  const auto words = snapshot.variable(kTorchrunWords);
  if (!words || !is_method(line, snapshot, "torchrun")) {
    return {};
  }
  return read_extra_options(line, *find_front_end("torchrun"), {*words, kTorchrunWords}, snapshot);
}

}  // namespace muster
  if (asks_for_text(line.settings) || is_already_worker(snapshot)) {
    return {};
  }
