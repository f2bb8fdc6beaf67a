// Keeps the list of pending work, and writes the report in a helper process.
#include "agent/pending_work.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace muster {

void PendingWork::add(const std::string& name, std::function<std::vector<std::string>()> in_detail) {
  const bool is_there =
      std::any_of(reasons_.begin(), reasons_.end(), [&](const Reason& reason) { return reason.name == name; });
  if (!is_leaving_ && !is_there) {
    reasons_.push_back({name, std::move(in_detail)});
  }
}

void PendingWork::remove(const std::string& name) {
  std::erase_if(reasons_, [&](const Reason& reason) { return reason.name == name; });
}

void PendingWork::exit_early() {
  reasons_.clear();
  is_leaving_ = true;
}

std::string PendingWork::describe() const {
  std::vector<std::string> names;
  for (const Reason& reason : reasons_) {
    std::vector<std::string> details = reason.in_detail ? reason.in_detail() : std::vector<std::string>();
    if (details.empty()) {
      details.push_back(reason.name);
    }
    names.insert(names.end(), details.begin(), details.end());
  }
  return join(names, ", ");
}

// The report's file system may hang, and the job's end does not wait for it.

void write_report_async(HelperTask& task, const std::function<Result<>()>& write, std::optional<int> stream,
                        std::chrono::milliseconds most_time, std::function<void(const Result<>&)> then) {
  const auto work = [&write] {
    const auto written = write();
    return written ? std::string() : written.error().message;
  };
  std::vector<int> kept;
  if (stream) {
    kept.push_back(*stream);
  }
  const auto take = [then = std::move(then)](const HelperTask::Answer& problem) {
    if (!problem) {
      then(Error{ErrorKind::System, "the report is not written: its file system does not answer"});
    } else {
      then(problem->empty() ? Result<>() : Error{ErrorKind::System, *problem});
    }
  };
  task.start({work, most_time, take, kept});
}

}  // namespace muster
