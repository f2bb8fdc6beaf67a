// Keeps the reports of a user's last jobs.
#include "report/saved_reports.hpp"

#include "base/display_text.hpp"
#include "base/file_io.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace muster {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFileBytes = std::size_t{1} << 20U;
constexpr std::string_view kSuffix = ".json";

bool is_of_another_user(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && status.st_uid != ::geteuid();
}

/// Names of the saved reports, oldest first: they begin with the moment of the end.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("20") && name.ends_with(kSuffix)) {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  return names;
}

std::string line_at(const json::object& object, const char* name) {
  return visible_line(text_of(object, name));
}

}  // namespace

ReportsFolder saved_reports_folder(const std::map<std::string, std::string>& variables) {
  const auto value = [&](const char* name) {
    const auto at = variables.find(name);
    return at == variables.end() || !at->second.starts_with('/') ? std::string() : at->second;
  };
  const std::string state = value("XDG_STATE_HOME");
  const std::string home = value("HOME");
  const std::string& owned = state.empty() ? home : state;
  const std::string place = state.empty() ? home + "/.local/state" : state;
  return {owned.empty() ? "" : place + "/muster/reports", owned};
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

Result<> save_report(const ReportsFolder& reports, const std::string& name, const std::string& text, int keep) {
  if (is_of_another_user(reports.home)) {
    return {};
  }
  const std::string& folder = reports.path;
  std::error_code error;
  fs::create_directories(fs::path(folder).parent_path(), error);
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return system_error("cannot make the folder of the last reports '" + folder + "'", errno);
  }
  TRY(write_whole_file(folder + "/" + name + std::string(kSuffix), text));
  const std::vector<std::string> names = names_in(folder);
  const auto kept = std::min(names.size(), static_cast<std::size_t>(keep));
  for (const std::string& old : std::span(names).first(names.size() - kept)) {
    (void)::unlink((fs::path(folder) / old).c_str());
  }
  return {};
}

std::vector<json::object> read_saved_reports(const ReportsFolder& reports, std::size_t most) {
  std::vector<json::object> found;
  const bool is_own = !is_of_another_user(reports.home);
  const std::vector<std::string> names = is_own ? names_in(reports.path) : std::vector<std::string>();
  for (auto name = names.rbegin(); name != names.rend() && found.size() < most; ++name) {
    if (auto report = parse_object(read_untrusted_file(fs::path(reports.path) / *name, kMostFileBytes + 1))) {
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
  const json::value* const lines = saved.if_contains("lines");
  const json::array shown = lines != nullptr && lines->is_array() ? lines->get_array() : json::array();
  for (const json::value& line : shown) {
    text += line.is_string() ? "  " + visible_line(std::string(line.get_string())) + "\n" : "";
  }
  if (shown.empty()) {  // of a remote launcher, whose first agent said them
    text += "  " + line_at(report, "verdict") + ": " + line_at(report, "reason") + "\n";
  }
  return text;
}

}  // namespace muster
