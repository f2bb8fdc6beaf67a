// Options that the platform's way to start a job holds in variables become settings, unless the user says
// something else. Which variables those are, and what mode that is, `cluster` knows.
#include "base/text.hpp"
#include "platforms/run_method.hpp"
#include "compat/front_end.hpp"
#include "modes/mpi_request.hpp"
#include "rank_table/local_instance.hpp"

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
bool is_msrun(const CommandLine& line, const RunMethod* method, const Snapshot& snapshot) {
  if (method != nullptr || line.settings.has("template")) {
    return method != nullptr && std::string_view(method->mode) == "msrun";
  }
  const auto mode = line.settings.find("mode");
  const bool is_left = !mode || mode->value == "auto";
  return is_left ? find_mindspore_pod(snapshot).has_value() : mode->value == "msrun";
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

/// Whether MS_RANKTABLE_ENABLE asks for the platform's rank table. Fails for what is neither yes nor no.
Result<bool> wants_rank_table(const Snapshot& snapshot) {
  const auto wish = find_given(snapshot, "MS_RANKTABLE_ENABLE");
  const std::string word = wish ? lower_case(wish->value) : "false";
  if (word != "true" && word != "false") {
    return wrong_value(*wish, "true or false");
  }
  return word == "true";
}

/// MS_RANKTABLE_ENABLE=true brings the platform's rank table, unless the user names one.
Result<> set_rank_table(CommandLine& line, const Snapshot& snapshot) {
  constexpr const char* kSetting = "set:rank_table_file";
  const auto is_wanted = wants_rank_table(snapshot);
  if (!is_wanted) {
    return is_wanted.error();
  }
  if (line.settings.has("rank-table")) {
    return {};
  }
  const auto table = find_given(snapshot, "RANK_TABLE_FILE");
  if (*is_wanted) {
    set_if_missing(line, kSetting, find_given(snapshot, "MSRUN_RANK_TABLE_FILE"));
    set_if_missing(line, kSetting, rank_table::find_table_file(snapshot));
  }
  if (line.settings.has(kSetting)) {
    return {};
  }
  if (*is_wanted) {
    line.notices.emplace_back(
        "starting without a rank table in spite of MS_RANKTABLE_ENABLE=true: neither "
        "MSRUN_RANK_TABLE_FILE nor RANK_TABLE_FILE names one");
  } else if (table) {
    line.notices.emplace_back(
        "removing RANK_TABLE_FILE for the workers: MS_RANKTABLE_ENABLE=true keeps it");
  }
  return {};
}

/// ModelArts' own start of MPI counts the processes of a node by this, where its user does.
void set_mpi_slots(CommandLine& line, const Snapshot& snapshot) {
  const auto mode = line.settings.find("mode");
  const bool is_listed = line.settings.has("hosts") || line.settings.has("hostfile");
  if (mode && mode->value == kMpiMode && !is_listed) {
    set_if_missing(line, "nproc-per-node", find_given(snapshot, "MY_MPI_SLOTS"));
  }
}

}  // namespace

Result<> read_run_method(CommandLine& line, const Snapshot& snapshot) {
  if (requests_text(line.settings) || is_already_worker(snapshot)) {
    return {};
  }
  set_mpi_slots(line, snapshot);
  const RunMethod* const method = method_of(line, snapshot);
  if (is_msrun(line, method, snapshot)) {
    if (auto set = set_rank_table(line, snapshot); !set) {
      return set;
    }
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
