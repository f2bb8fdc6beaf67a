// Bytes that workers wrote, on a file system that may hang: read, and made a sentence of, beside the agent.
#include "error_files.hpp"

#include "run_folder.hpp"

#include <muster/base/text.hpp>
#include <muster/logs/error_file.hpp>
#include <muster/logs/messages.hpp>

#include <boost/asio/post.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <sstream>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t kErrorFileBytes = std::size_t{1} << 20U;
/// A start may wait longer than an end.
constexpr std::chrono::milliseconds kStartPatience{1'000};
constexpr std::chrono::milliseconds kEndPatience{500};

/// What is no file is never read, and is left alone.
void remove_files(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      (void)::unlink(path.c_str());
    }
  }
}

/// A line each.
std::string read_files(const std::vector<std::string>& paths) {
  std::string lines;
  for (const std::string& path : paths) {
    lines += read_error_file(read_untrusted_file(path, kErrorFileBytes)) + '\n';
  }
  return lines;
}

}  // namespace

bool ErrorFiles::prepare(std::function<void()> then) {
  for (const WorkerPlan& worker : plan_.workers) {
    make_again(std::filesystem::path(worker.error_file).parent_path());
  }
  const std::vector<std::string> old = old_ones();
  if (old.empty()) {
    return true;
  }
  const auto remove = [&old] {
    remove_files(old);
    return std::string();
  };
  errand_.start(
      {remove, {}}, kStartPatience, [this, then = std::move(then)](const Errand::Answer& answer) {
        if (!answer) {
          give_up();
        }
        then();
      });
  return false;
}

/// Before the first attempt there are none in the folder of the run.
std::vector<std::string> ErrorFiles::old_ones() const {
  std::vector<std::string> paths;
  for (const WorkerPlan& worker : plan_.workers) {
    const bool is_in_folder =
        !run_folder_.empty() && worker.error_file.starts_with(run_folder_ + "/");
    if (!worker.error_file.empty() && (plan_.attempt > 0 || !is_in_folder)) {
      paths.push_back(worker.error_file);
    }
  }
  return paths;
}

void ErrorFiles::read(const std::vector<std::size_t>& workers, std::function<void()> then) {
  errand_.cancel();  // who stops before the first start waits for no removal
  std::vector<std::size_t> read;
  std::vector<std::string> paths;
  for (const std::size_t worker : workers) {
    if (const std::string& path = plan_.workers[worker].error_file; !path.empty()) {
      read.push_back(worker);
      paths.push_back(path);
    }
  }
  if (paths.empty() || has_given_up_) {
    boost::asio::post(io_, std::move(then));
    return;
  }
  errand_.start({[&paths] { return read_files(paths); }, {}},
                kEndPatience,
                [this, read = std::move(read), then = std::move(then)](const auto& answer) {
                  answer ? keep(read, *answer) : give_up();
                  then();
                });
}

void ErrorFiles::give_up() {
  has_given_up_ = true;
  say_warning("the workers' error files are not read: their file system does not answer");
}

void ErrorFiles::keep(const std::vector<std::size_t>& workers, const std::string& answer) {
  std::istringstream lines(answer);
  for (const std::size_t worker : workers) {
    std::getline(lines, messages_[worker]);
  }
}

std::string ErrorFiles::message(std::size_t worker) const {
  const auto found = messages_.find(worker);
  return found == messages_.end() ? std::string() : found->second;
}

}  // namespace muster
