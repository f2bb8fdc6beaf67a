// Reads workers' error files, and finds out whether the progress file has changed since the last attempt.
#include "agent/worker_files.hpp"

#include "agent/rank_folders.hpp"
#include "agent/run_folder.hpp"
#include "base/file_io.hpp"
#include "base/log.hpp"
#include "output/line_framer.hpp"
#include "run/run_context.hpp"

#include <boost/asio/post.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <utility>

namespace muster {
namespace {

/// Timeouts of a helper process that reads or removes workers' files: before their start it may take longer.
constexpr std::chrono::milliseconds kStartTimeout{1'000};
constexpr std::chrono::milliseconds kEndTimeout{500};

/// Removes a regular file; anything else is never read, and is kept.
void remove_file(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    (void)::unlink(path.c_str());
  }
}

/// Returns the error; empty: the directory exists. An empty path is the working directory.
std::string make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (!folder.empty()) {
    std::filesystem::create_directories(folder, error);
  }
  return error ? "cannot make the folder '" + folder.string() + "' for the workers' error files: " + error.message()
               : std::string();
}

/// Returns one line for each file.
std::string read_files(const std::vector<std::string>& paths) {
  std::string lines;
  for (const std::string& path : paths) {
    lines += read_error_file(read_rank_file(path, kMostErrorFileBytes)) + '\n';
  }
  return lines;
}

}  // namespace

bool ErrorFiles::prepare(std::function<void()> then) {
  for (const WorkerPlan& worker : plan_.workers) {
    make_again(std::filesystem::path(worker.error_file).parent_path());
  }
  const std::vector<std::string> places = files_to_prepare();
  if (places.empty()) {
    return true;
  }
  const auto take_answer = [this, then = std::move(then)](const HelperTask::Answer& answer) {
    if (!answer) {
      give_up();
    } else if (!answer->empty()) {
      prepared_ = Error{ErrorKind::System, *answer};
    }
    then();
  };
  helper_task_.start({[this, &places] { return make_room(places); }, kStartTimeout, take_answer});
  return false;
}

bool ErrorFiles::is_in_run_folder(const std::string& path) const {
  return !run_folder_.empty() && path.starts_with(run_folder_ + "/");
}

/// Leaves out folders that exist and are empty: the rank's own, and before the first attempt the run directory.
std::vector<std::string> ErrorFiles::files_to_prepare() const {
  std::vector<std::string> paths;
  for (const WorkerPlan& worker : plan_.workers) {
    const bool is_new = worker.own_folder.empty() ? plan_.placement.attempt == 0 && is_in_run_folder(worker.error_file)
                                                  : worker.error_file.starts_with(worker.own_folder + "/");
    if (!worker.error_file.empty() && !is_new) {
      paths.push_back(worker.error_file);
    }
  }
  return paths;
}

/// Returns the first error; empty: none.
std::string ErrorFiles::make_room(const std::vector<std::string>& paths) const {
  for (const std::string& path : paths) {
    std::string obstacle = is_in_run_folder(path) ? "" : make_folder(std::filesystem::path(path).parent_path());
    if (!obstacle.empty()) {
      return obstacle;
    }
    remove_file(path);
  }
  return {};
}

void ErrorFiles::read(const std::vector<WorkerEnded>& failed, std::function<void()> then) {
  helper_task_.cancel();  // a stop before the first start does not wait for the removal
  std::vector<std::size_t> read;
  std::vector<std::string> paths;
  for (const WorkerEnded& ended : failed) {
    if (const std::string& path = plan_.workers[ended.worker].error_file; !path.empty()) {
      read.push_back(ended.worker);
      paths.push_back(path);
    }
  }
  if (paths.empty() || has_given_up_) {
    boost::asio::post(io_, std::move(then));
    return;
  }
  helper_task_.start({[&paths] { return read_files(paths); }, kEndTimeout,
                      [this, read = std::move(read), then = std::move(then)](const auto& answer) {
                        answer ? keep(read, *answer) : give_up();
                        then();
                      }});
}

void ErrorFiles::give_up() {
  has_given_up_ = true;
  log_warning("the workers' error files are not read: their file system does not answer");
}

void ErrorFiles::keep(const std::vector<std::size_t>& workers, const std::string& answer) {
  std::istringstream lines(answer);
  for (const std::size_t worker : workers) {
    std::getline(lines, messages_[worker]);
  }
}

// The progress file is not read: its size, time and inode number change when it is written.

std::string fingerprint_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return "none";
  }
  return std::to_string(status.st_size) + " " + std::to_string(status.st_mtim.tv_sec) + "." +
         std::to_string(status.st_mtim.tv_nsec) + " " + std::to_string(status.st_ino);
}

void FileProgress::start() {
  if (!path_.empty()) {
    read_in_helper([this](HelperTask::Answer answer) { last_ = std::move(answer); });
  }
}

void FileProgress::check(const std::function<void(std::optional<bool>)>& then) {
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

void FileProgress::read_in_helper(HelperTask::Then then) {
  constexpr std::chrono::milliseconds kTimeout{1'000};
  helper_task_.start({[path = path_] { return fingerprint_file(path); }, kTimeout, std::move(then)});
}

}  // namespace muster
