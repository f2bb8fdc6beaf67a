// The file system of the report may hang, and the end of a job does not wait for it.
#include "agent/report_errand.hpp"

#include <string>
#include <utility>
#include <vector>

namespace muster {

void write_report_async(HelperTask& task,
                        const std::function<Result<>()>& write,
                        std::optional<int> stream,
                        std::chrono::milliseconds most_time,
                        std::function<void(const Result<>&)> then) {
  const auto work = [&write] {
    const auto written = write();
    return written ? std::string() : written.error().message;
  };
  std::vector<int> kept;
  if (stream) {
    kept.push_back(*stream);
  }
  task.start({work, kept}, most_time, [then = std::move(then)](const HelperTask::Answer& problem) {
    if (!problem) {
      then(Error{ErrorKind::System, "the report is not written: its file system does not answer"});
    } else {
      then(problem->empty() ? Result<>() : Error{ErrorKind::System, *problem});
    }
  });
}

}  // namespace muster
