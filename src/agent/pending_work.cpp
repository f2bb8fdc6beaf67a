// Keeps the list of pending work, and works on services' files in helper processes.
#include "agent/pending_work.hpp"

#include "base/log.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

constexpr const char* kFilesOfServices = "the files of the services";
/// Services' files that take longer to write are logged: the workers wait for them.
constexpr std::chrono::seconds kLateFiles{1};

}  // namespace

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

// Services' files.

ServiceFiles::ServiceFiles(boost::asio::io_context& io, HelperProcesses& helpers, PendingWork& pending,
                           std::chrono::milliseconds most_time)
    : pending_(pending),
      most_time_(most_time),
      task_(io, helpers),
      slow_timer_(io, kLateFiles, [this] { log_info("waiting for " + what_ + " to be written"); }) {}

void ServiceFiles::write(std::string what, Work work, std::function<void(HelperTask::Answer)> then) {
  what_ = std::move(what);
  slow_timer_.ask();
  const auto end = [this, then = std::move(then)](const HelperTask::Answer& answer) {
    slow_timer_.cancel();
    then(answer);
  };
  add({std::move(work), most_time_, end, {}, true});
}

void ServiceFiles::remove(Work work) {
  static constexpr std::chrono::milliseconds kRemoveTimeout{1'000};
  slow_timer_.cancel();
  task_.drop();
  add({std::move(work), kRemoveTimeout, [](const auto& /*answer*/) {}});
}

void ServiceFiles::add(HelperTask::Task task) {
  pending_.add(kFilesOfServices);
  task.then = [this, then = std::move(task.then)](const HelperTask::Answer& answer) {
    then(answer);
    if (task_.is_idle()) {
      pending_.remove(kFilesOfServices);
    }
  };
  task_.add(std::move(task));
}

}  // namespace muster
