// A small document in the state folder of a job, written by node 0 at the end of each run.
#include "base/json.hpp"
#include "base/text.hpp"
#include "base/untrusted_file.hpp"
#include "base/write_all.hpp"
#include "platforms/facts.hpp"
#include "report/run_history.hpp"
#include "process/briefly.hpp"
#include "supervise/job_end.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>

namespace muster {
namespace {

constexpr const char* kFile = "muster.json";
constexpr std::size_t kMostBytes = 4'096;
// What an answer begins with: why there is no folder, or what the file holds.
constexpr const char* kRefused = "!";
constexpr const char* kRead = "=";
constexpr std::chrono::seconds kFolderPatience{5};

std::string path_in(const std::string& folder) {
  return folder + "/" + kFile;
}

}  // namespace

std::string state_folder_of(const std::string& state_dir, const std::string& job_id) {
  std::string name = job_id.empty() || job_id == kNoJobId ? "job" : job_id;
  std::replace_if(
      name.begin(),
      name.end(),
      [](char c) { return !is_letter_or_digit(c) && c != '.' && c != '_' && c != '-'; },
      '_');
  std::error_code failed;  // without a working directory a relative path stays what it is
  const std::filesystem::path whole = std::filesystem::absolute(state_dir, failed);
  return (failed ? state_dir : whole.string()) + "/" + (name.starts_with('.') ? "_" + name : name);
}

std::optional<RunHistory> parse_history(const std::string& text) {
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  if (error || !value.is_object()) {
    return std::nullopt;
  }
  const json::value* const runs = value.get_object().if_contains("runs");
  const json::value* const verdict = value.get_object().if_contains("verdict");
  const bool is_one = runs != nullptr && runs->is_int64() && runs->get_int64() >= 0 &&
                      runs->get_int64() < std::numeric_limits<int>::max() && verdict != nullptr &&
                      verdict->is_string() && find_verdict(std::string(verdict->get_string()));
  return is_one ? std::optional(RunHistory{static_cast<int>(runs->get_int64()),
                                           std::string(verdict->get_string())})
                : std::nullopt;
}

Result<RunHistory> open_history(const std::string& folder) {
  const auto work = [&] {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    return error ? kRefused + error.message()
                 : kRead + read_untrusted_file(path_in(folder), kMostBytes);
  };
  const auto text = ask_with_timeout(work, {}, kFolderPatience);
  const std::string refusal = !text                         ? "its file system does not answer"
                              : text->starts_with(kRefused) ? text->substr(1)
                                                            : "";
  if (!refusal.empty()) {
    return Error{ErrorKind::System, "cannot make the state folder '" + folder + "': " + refusal};
  }
  return parse_history(text->substr(1)).value_or(RunHistory{});
}

Result<> write_history(const std::string& folder, const RunHistory& before, const JobEnd& end) {
  const json::value document = json::object{{"runs", before.runs + 1},
                                            {"verdict", json::string(verdict_name(end.verdict))},
                                            {"exit_code", end.exit_code},
                                            {"reason", valid_utf8(end.reason)}};
  return write_whole_file(path_in(folder), pretty_json(document));
}

}  // namespace muster
