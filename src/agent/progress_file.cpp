// Nothing is read: size, time and number change when somebody writes.
#include "agent/progress_file.hpp"

#include <sys/stat.h>

#include <utility>

namespace muster {

std::string look_at_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return "none";
  }
  return std::to_string(status.st_size) + " " + std::to_string(status.st_mtim.tv_sec) + "." +
         std::to_string(status.st_mtim.tv_nsec) + " " + std::to_string(status.st_ino);
}

void RankTableProgress::start() {
  if (!path_.empty()) {
    read_in_helper([this](HelperTask::Answer answer) { last_ = std::move(answer); });
  }
}

void RankTableProgress::look(const std::function<void(std::optional<bool>)>& then) {
  if (path_.empty()) {
    then(std::nullopt);
    return;
  }
  read_in_helper([this, then](HelperTask::Answer answer) {
    const bool are_known = answer && last_;
    const bool has_changed = answer != last_;
    last_ = answer ? std::move(answer) : std::move(last_);
    then(are_known ? std::optional(has_changed) : std::nullopt);
  });
}

void RankTableProgress::read_in_helper(std::function<void(HelperTask::Answer)> then) {
  constexpr std::chrono::milliseconds kPatience{1'000};
  errand_.start({[path = path_] { return look_at_file(path); }, {}}, kPatience, std::move(then));
}

}  // namespace muster
