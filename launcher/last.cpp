// Answers `muster last`, and keeps the report of a job for it.
#include "base/console_time.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "control/status.hpp"
#include "environment/snapshot.hpp"
#include "options/settings.hpp"
#include "options/syntax.hpp"
#include "process/helper_process.hpp"
#include "report/saved_reports.hpp"
#include "start_job.hpp"
#include "subcommands.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>

namespace muster {
namespace {

constexpr const char* kCount = "the number of reports";
constexpr const char* kNotKept = "the report is not kept: ";
constexpr int kMostReports = 1'000;
/// Reports that are kept without --history, if the jobs were started on a terminal.
constexpr int kUsualHistory = 20;
/// Time limit for the file system of the home folder.
constexpr std::chrono::seconds kReadTimeout{5};

constexpr auto kLastTable = std::to_array<Option>({
    {"json", nullptr, "Last", "Print JSON."},
    {"help", nullptr, "Last", "Print this text.", kReadByCode, nullptr, 'h'},
});

/// First character of the helper process's answer: kRefused before an error text, kRead before the reports.
constexpr const char* kRefused = "!";
constexpr const char* kRead = "=";

/// The line below the reports, for a user who expects a newer one: how old the newest is, and which jobs have none.
std::string remark_on_newest(const json::object& saved) {
  std::tm ended{};
  const std::string moment(saved.at("report").at("ended_at").as_string());
  if (::strptime(moment.c_str(), "%Y-%m-%dT%H:%M:%S", &ended) == nullptr) {
    return "";
  }
  const double age = control::now_since_1970() - static_cast<double>(::timegm(&ended));
  return "It ended " + control::short_duration(age) +
         " ago. A job has no report while it runs, or after a kill of muster itself.\n";
}

/// The answer of the helper process that reads the files: JSON, or all reports as text.
std::string answer_with(const ReportsFolder& folder, std::size_t count, bool is_json) {
  if (const auto checked = check_reports_folder(folder); !checked) {
    return kRefused + checked.error().message;
  }
  json::array documents;
  std::string text;
  for (json::object& saved : read_saved_reports(folder, count)) {
    text += (text.empty() ? "" : "\n") + describe_saved_report(saved);
    documents.push_back(std::move(saved));
  }
  if (is_json) {
    return kRead + pretty_json(documents);
  }
  return kRead + (documents.empty() ? "" : text + remark_on_newest(documents.back().as_object()));
}

/// True for a process that a person has started in a terminal, wherever its output goes, and also with nohup; false for
/// one of a scheduler, of cron or of a container.
bool has_controlling_terminal() {
  return static_cast<bool>(UniqueFd(::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)));
}

constexpr auto kLastRemarks = std::to_array<OptionRemark>({
    {"n", "did you mean 'muster last N'?"},
    {"history", "did you mean 'muster last N'? --history belongs to the job that keeps its report"},
});

}  // namespace

const OptionTable kLastOptions{kLastTable, {}, {}, "muster last", kLastRemarks};

Result<> read_last_line(CommandLine& line, std::span<const std::string> tokens) {
  std::vector<std::string> flags;
  for (const std::string& token : tokens) {
    if (token.size() > 1 && token.front() == '-') {
      flags.push_back(with_dashes(token));
    } else if (line.settings.has(kCount)) {
      return Error{ErrorKind::BadUsage, "'" + token + "' is one number too many for muster last"};
    } else {
      line.settings.set(kCount, {token, from_flag(kCount)});
    }
  }
  return read_flags(flags, kLastOptions, line.settings);
}

Result<int> run_last(const CommandLine& line, const Snapshot& snapshot, const Inherited& /*inherited*/) {
  const auto given = line.settings.find(kCount);
  const int count = given ? TRY(read_number<1, kMostReports, "a number">(*given)) : 1;
  const ReportsFolder folder = saved_reports_folder(snapshot.variables);
  const auto read = [&] { return answer_with(folder, static_cast<std::size_t>(count), is_on(line.settings, "json")); };
  const auto answer = HelperTask::wait_for({read, kReadTimeout});
  if (!answer) {
    return Error{ErrorKind::System,
                 "cannot read the last reports in '" + folder.path + "': its file system does not answer"};
  }
  if (answer->starts_with(kRefused)) {
    return Error{ErrorKind::Incomplete, "the last reports are not read: " + answer->substr(1)};
  }
  if (*answer == kRead) {
    return Error{ErrorKind::Incomplete,
                 "no report of a job of this user is kept" + (folder.path.empty() ? "" : " in '" + folder.path + "'") +
                     "; jobs on a terminal keep theirs (of several nodes, node 0's), others with --history N"};
  }
  return print(answer->substr(1));
}

std::optional<ReportKeeper> make_report_keeper(const Options& options, const std::string& job_id,
                                               const Snapshot& snapshot) {
  const int keep = options.history.value_or(has_controlling_terminal() ? kUsualHistory : 0);
  ReportsFolder folder = saved_reports_folder(snapshot.variables);
  if (keep == 0 || options.run.launcher) {  // the remote launcher keeps one report for all nodes
    return std::nullopt;
  }
  if (folder.path.empty()) {
    if (options.history) {
      log_warning(kNotKept + std::string("neither HOME nor XDG_STATE_HOME names a folder"));
    }
    return std::nullopt;
  }
  SavedJob job;
  job.id = job_id == kNoJobId ? "" : job_id;
  job.program = join(masked_arguments(options.job.program), " ");
  job.folder = snapshot.working_directory;
  job.pid = ::getpid();
  return ReportKeeper{std::move(folder), keep, options.history.has_value(), std::move(job)};
}

std::vector<std::string> texts_of(const std::vector<ReportLine>& lines) {
  std::vector<std::string> texts(lines.size());
  std::ranges::transform(lines, texts.begin(), &ReportLine::text);
  return texts;
}

Result<> ReportKeeper::keep_report(const json::value& report, const std::vector<std::string>& lines) const {
  const std::string moment = utc_text_with_milliseconds(std::chrono::system_clock::now());  // not another host's clock
  const auto saved =
      save_report(folder, moment + "-" + std::to_string(job.pid), saved_report(job, report, lines), keep);
  return saved || !is_asked_for ? Result<>() : Error{saved.error().kind, kNotKept + saved.error().message};
}

}  // namespace muster
