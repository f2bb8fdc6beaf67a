// How ModelArts is asked to start a job: MA_RUN_METHOD names torchrun or msrun, and other variables
// hold options for it. Which mode that is, and who the nodes are, is decided elsewhere.
#include <muster/front_end/front_end.hpp>

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

/// A mode of msrun's, whoever asks for it.
bool is_msrun(const CommandLine& line, const Snapshot& snapshot) {
  const auto mode = line.settings.find("mode");
  return is_method(line, snapshot, "msrun") ||
         (mode && mode->value == "msrun" && !line.settings.has("template"));
}

/// What a variable says, unless it is empty.
std::optional<Sourced<std::string>> find_given(const Snapshot& snapshot, const char* variable) {
  const auto value = snapshot.variable(variable);
  return value && !value->empty()
             ? std::optional(Sourced<std::string>{*value, from_variable(variable)})
             : std::nullopt;
}

void set_if_missing(CommandLine& line,
                    const char* setting,
                    const std::optional<Sourced<std::string>>& value) {
  if (value && !line.settings.has(setting)) {
    line.settings.set(setting, *value);
  }
}

/// MS_RANKTABLE_ENABLE=true brings the platform's rank table.
void set_rank_table(CommandLine& line, const Snapshot& snapshot) {
  constexpr const char* kSetting = "set:rank_table_file";
  const auto table = find_given(snapshot, "RANK_TABLE_FILE");
  if (snapshot.variable("MS_RANKTABLE_ENABLE") == "true") {
    set_if_missing(line, kSetting, find_given(snapshot, "MSRUN_RANK_TABLE_FILE"));
    set_if_missing(line, kSetting, table);
  }
  if (table && !line.settings.has(kSetting)) {
    line.notices.emplace_back(
        "removing RANK_TABLE_FILE for the workers: MS_RANKTABLE_ENABLE=true keeps it");
  }
}

}  // namespace

Result<> read_run_method(CommandLine& line, const Snapshot& snapshot) {
  if (asks_for_text(line.settings) || is_already_worker(snapshot)) {
    return {};
  }
  if (is_method(line, snapshot, "msrun")) {
    set_if_missing(line, "log-dir", find_given(snapshot, "MSRUN_LOG_DIR"));
    if (const auto seconds = find_given(snapshot, "MSRUN_CLUSTER_TIME_OUT")) {
      set_if_missing(line, "set:cluster_time_out", seconds);
      set_if_missing(line, "gang-timeout", gang_timeout_of(*seconds));
    }
  }
  if (is_msrun(line, snapshot)) {
    set_rank_table(line, snapshot);
  }
  const auto words = snapshot.variable(kTorchrunWords);
  if (!words || !is_method(line, snapshot, "torchrun")) {
    return {};
  }
  return read_extra_options(
      line, *find_front_end("torchrun"), {*words, from_variable(kTorchrunWords)}, snapshot);
}

}  // namespace muster
