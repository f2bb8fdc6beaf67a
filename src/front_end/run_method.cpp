// Options that the platform's way to start a job holds in variables become settings, unless the user says
// something else. Which variables those are, and what mode that is, `cluster` knows.
#include <muster/cluster/run_method.hpp>
#include <muster/front_end/front_end.hpp>
#include <muster/rank_table/own_instance.hpp>

namespace muster {
namespace {

/// The way to start the job that ModelArts is asked for and the user leaves to it. A mode of the user's
/// own leaves nothing of the platform's.
const RunMethod* method_of(const CommandLine& line, const Snapshot& snapshot) {
  const RunMethod* const method = find_run_method(snapshot);
  const auto mode = line.settings.find("mode");
  const bool is_left = method != nullptr && !line.settings.has("template") &&
                       (!mode || mode->value == "auto" || mode->value == method->mode);
  return is_left ? method : nullptr;
}

/// A mode of msrun's, whoever asks for it.
bool is_msrun(const CommandLine& line, const RunMethod* method) {
  const auto mode = line.settings.find("mode");
  return (method != nullptr && std::string_view(method->mode) == "msrun") ||
         (mode && mode->value == "msrun" && !line.settings.has("template"));
}

/// What a variable says, unless it is empty or nullptr.
std::optional<Sourced<std::string>> find_given(const Snapshot& snapshot, const char* variable) {
  const auto value = variable == nullptr ? std::nullopt : snapshot.variable(variable);
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
  const bool is_wanted = snapshot.variable("MS_RANKTABLE_ENABLE") == "true";
  if (is_wanted) {
    set_if_missing(line, kSetting, find_given(snapshot, "MSRUN_RANK_TABLE_FILE"));
    set_if_missing(line, kSetting, rank_table::find_table_file(snapshot));
  }
  if (line.settings.has(kSetting)) {
    return;
  }
  if (is_wanted) {
    line.notices.emplace_back(
        "starting without a rank table in spite of MS_RANKTABLE_ENABLE=true: neither "
        "MSRUN_RANK_TABLE_FILE nor RANK_TABLE_FILE names one");
  } else if (table) {
    line.notices.emplace_back(
        "removing RANK_TABLE_FILE for the workers: MS_RANKTABLE_ENABLE=true keeps it");
  }
}

}  // namespace

Result<> read_run_method(CommandLine& line, const Snapshot& snapshot) {
  if (asks_for_text(line.settings) || is_already_worker(snapshot)) {
    return {};
  }
  const RunMethod* const method = method_of(line, snapshot);
  if (is_msrun(line, method)) {
    set_rank_table(line, snapshot);
  }
  if (method == nullptr) {
    return {};
  }
  set_if_missing(line, "log-dir", find_given(snapshot, method->log_dir));
  if (const auto seconds = find_given(snapshot, method->cluster_time_out)) {
    set_if_missing(line, "set:cluster_time_out", seconds);
    set_if_missing(line, "gang-timeout", gang_timeout_of(*seconds));
  }
  const auto words = find_given(snapshot, method->more_options);
  return words ? read_extra_options(line, *find_front_end(method->mode), *words, snapshot)
               : Result<>();
}

}  // namespace muster
