// Keeps the reports of a user's last jobs.
#include "report/saved_reports.hpp"

#include "base/console_time.hpp"
#include "base/display_text.hpp"
#include "base/file_io.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>

namespace muster {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFileBytes = std::size_t{1} << 20U;
constexpr std::string_view kSuffix = ".json";

bool is_of_another_user(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && status.st_uid != ::geteuid();
}

/// True for the names of `save_report`, such as "2026-11-28T16:54:38.376Z-4711.json".
bool is_report_name(std::string_view name) {
  constexpr std::string_view kForm = "2000-00-00T00:00:00.000Z-0";  // behind it the pid goes on
  const auto has_form = [](char form, char c) { return form == '0' ? c >= '0' && c <= '9' : c == form; };
  if (name.size() < kForm.size() + kSuffix.size() || !name.ends_with(kSuffix)) {
    return false;
  }
  name.remove_suffix(kSuffix.size());
  return std::ranges::equal(kForm, name.substr(0, kForm.size()), has_form) &&
         name.find_first_not_of("0123456789", kForm.size()) == std::string_view::npos;
}

/// Names of the saved reports, oldest first: they begin with the moment of the end. Those of a time to come are taken
/// for the oldest. Looks at `most` files.
std::vector<std::string> names_in(const std::string& folder, std::size_t most) {
  std::vector<std::string> names;
  std::error_code error;
  std::size_t seen = 0;
  for (fs::directory_iterator at(folder, error), end; !error && at != end && seen < most; at.increment(error), ++seen) {
    const std::string name = at->path().filename().string();
    std::error_code unknown;
    if (is_report_name(name) && fs::is_regular_file(at->symlink_status(unknown))) {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  const std::string now = utc_text_with_milliseconds(std::chrono::system_clock::now());
  const auto first_to_come =
      std::ranges::find_if(names, [&](const std::string& name) { return name.substr(0, now.size()) > now; });
  std::rotate(names.begin(), first_to_come, names.end());
  return names;
}

/// Makes the folder, private to this user, and those above it up to `top`.
Result<> make_folder(const ReportsFolder& reports) {
  const std::string failed = "cannot make the folder of the last reports '" + reports.path + "'";
  std::error_code error;
  if (!fs::is_directory(reports.top, error)) {
    return Error{ErrorKind::System, failed + ": '" + reports.top + "' is no folder"};
  }
  fs::create_directories(fs::path(reports.path).parent_path(), error);
  const bool is_made = ::mkdir(reports.path.c_str(), S_IRWXU) == 0 || errno == EEXIST;
  return is_made ? Result<>() : system_error(failed, errno);
}

/// True for the document of `saved_report`.
bool is_saved_report(const json::object& document) {
  const json::value* const report = document.if_contains("report");
  return report != nullptr && report->is_object() && !text_of(report->get_object(), "verdict").empty() &&
         !text_of(report->get_object(), "ended_at").empty() && document.contains("program");
}

std::string line_at(const json::object& object, const char* name) {
  return visible_line(text_of(object, name));
}

}  // namespace

ReportsFolder saved_reports_folder(const std::map<std::string, std::string>& variables) {
  const auto value = [&](const char* name) {
    const std::string given = value_at(variables, name);
    return given.starts_with('/') ? given : std::string();
  };
  const std::string state = value("XDG_STATE_HOME");
  const std::string home = value("HOME");
  const std::string& owned = state.empty() ? home : state;
  const std::string place = state.empty() ? home + "/.local/state" : state;
  return {owned.empty() ? "" : place + "/muster/reports", owned,
          state.empty() ? home : fs::path(state).parent_path().string()};
}

std::string saved_report(const SavedJob& job, const json::value& report, const std::vector<std::string>& last_lines) {
  json::object saved{{"id", job.id.empty() ? json::value() : json::value(job.id)},
                     {"program", job.program},
                     {"folder", job.folder},
                     {"pid", job.pid},
                     {"lines", json::array(last_lines.begin(), last_lines.end())},
                     {"report", report}};
  json::value document = std::move(saved);
  make_valid_utf8(document);
  std::string text = pretty_json(document);
  for (const char* const part : {"hang", "also_failed", "workers", "evidence", "remarks", "first_failure"}) {
    if (text.size() <= kMostFileBytes) {
      return text;
    }
    document.at("report").as_object().erase(part);
    text = pretty_json(document);
  }
  return text;
}

Result<> check_reports_folder(const ReportsFolder& reports) {
  struct stat status {};
  if (::lstat(reports.path.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) {
    return Error{ErrorKind::System, "'" + reports.path + "' is a symbolic link"};
  }
  for (const std::string& folder : {reports.home, reports.path}) {
    if (is_of_another_user(folder)) {
      return Error{ErrorKind::System, "'" + folder + "' belongs to another user"};
    }
  }
  return {};
}

Result<> save_report(const ReportsFolder& reports, const std::string& name, const std::string& text, int keep) {
  constexpr std::size_t kMostLookedAt = 4'000;  // more than --history keeps
  constexpr std::size_t kMostRemoved = 100;
  TRY(check_reports_folder(reports));
  TRY(make_folder(reports));
  const std::string own = name + std::string(kSuffix);
  TRY(write_whole_file(reports.path + "/" + own, text));
  std::vector<std::string> names = names_in(reports.path, kMostLookedAt);
  std::erase(names, own);
  const auto kept = std::min(names.size(), static_cast<std::size_t>(keep - 1));
  for (const std::string& old : std::span(names).first(std::min(names.size() - kept, kMostRemoved))) {
    (void)::unlink((fs::path(reports.path) / old).c_str());
  }
  return {};
}

std::vector<json::object> read_saved_reports(const ReportsFolder& reports, std::size_t most) {
  std::vector<json::object> found;
  const std::vector<std::string> names = check_reports_folder(reports)
                                             ? names_in(reports.path, std::numeric_limits<std::size_t>::max())
                                             : std::vector<std::string>();
  for (auto name = names.rbegin(); name != names.rend() && found.size() < most; ++name) {
    const fs::path file = fs::path(reports.path) / *name;
    auto report = is_of_another_user(file) ? std::nullopt : parse_object(read_untrusted_file(file, kMostFileBytes + 1));
    if (report && is_saved_report(*report)) {
      found.push_back(std::move(*report));
    }
  }
  std::ranges::reverse(found);
  return found;
}

std::string describe_saved_report(const json::object& saved) {
  const json::value* const value = saved.if_contains("report");
  const json::object report = value != nullptr && value->is_object() ? value->get_object() : json::object();
  const std::string id = line_at(saved, "id");
  std::string text = line_at(report, "started_at") + " to " + line_at(report, "ended_at") + ": " +
                     (id.empty() ? "" : "'" + id + "', ") + line_at(saved, "program") + " in " +
                     line_at(saved, "folder") + "\n";
  const json::array* const lines = array_of(saved, "lines");
  const json::array shown = lines != nullptr ? *lines : json::array();
  for (const json::value& line : shown) {
    text += line.is_string() ? "  " + visible_line(std::string(line.get_string())) + "\n" : "";
  }
  if (shown.empty()) {  // of an older muster, which had a list of hosts
    text += "  " + line_at(report, "verdict") + ": " + line_at(report, "reason") + "\n";
  }
  return text;
}

}  // namespace muster
