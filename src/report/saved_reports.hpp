#pragma once

// Keeps the reports of a user's last jobs, for `muster last`: one file for each job in the user's state folder.

#include "base/json_fwd.hpp"
#include "base/result.hpp"
#include "report/report.hpp"

#include <map>
#include <string>
#include <vector>

namespace muster {

/// The facts in a saved report beside the report.
struct SavedJob {
  std::string id;       ///< empty: none
  std::string program;  ///< with its arguments, secrets masked
  std::string folder;   ///< in which muster was started
  pid_t pid = -1;       ///< of muster
};

/// The folder of the saved reports.
struct ReportsFolder {
  std::string path;  ///< empty: there is no home
  std::string home;  ///< or the folder for states that the user has named
  std::string top;   ///< must exist: folders are only made below it
};

/// "$XDG_STATE_HOME/muster/reports", else below ~/.local/state. Pure: the home's file system may hang.
/// Source: https://specifications.freedesktop.org/basedir-spec/latest
ReportsFolder saved_reports_folder(const std::map<std::string, std::string>& variables);

/// The content of a file: the job, the report, and the last lines of the console. At most 1 MB: if it is larger, its
/// longest parts are left out.
std::string saved_report(const SavedJob& job, const json::value& report, const std::vector<std::string>& last_lines);

/// Checks that the folder is safe to use. Fails with `System` and the reason if the folder or `home` belongs to
/// another user, as below sudo, or if the folder is a symbolic link. Blocks while the file system hangs.
[[nodiscard]] Result<> check_reports_folder(const ReportsFolder& reports);

/// Writes the file, which only this user may read, and removes older reports so that `keep` stay. `name`: the time
/// and the pid, such as "2026-11-28T16:54:38.376Z-4711". Files with other names stay. Looks at a part of very many
/// files, and removes the rest with later reports. A report with a time in the future, from a wrong clock, counts as
/// the oldest. Blocks while the file system hangs. Fails with `System` and the reason.
[[nodiscard]] Result<> save_report(const ReportsFolder& reports, const std::string& name, const std::string& text,
                                   int keep);

/// At most `most` saved reports, the newest ones, in the order of their ages: the oldest first. Leaves out files that
/// are no report, or another user's.
std::vector<json::object> read_saved_reports(const ReportsFolder& reports, std::size_t most);

/// A saved report for people: which job, when, and its last lines.
std::string describe_saved_report(const json::object& saved);

}  // namespace muster
