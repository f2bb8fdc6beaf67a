// Makes the pipe, and has those killed whose timers have expired. Without a timer nothing wakes us.
// Source: _setup_local_watchdog in torch/distributed/elastic/agent/server/local_elastic_agent.py of torch 2.13.
#include "services/file_timer_service.hpp"

#include "services/file_timer.hpp"

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "base/log.hpp"
#include "supervise/exit_status.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace muster {
namespace {

constexpr const char* kSwitch = "TORCHELASTIC_ENABLE_FILE_TIMER";
constexpr const char* kFile = "TORCHELASTIC_TIMER_FILE";
constexpr mode_t kOwnersAlone = 0600;
/// Woken before a timer expires we would wait once more.
constexpr std::chrono::milliseconds kRounding{1};
/// No wait of the system's is longer; what is left of it then is waited for again.
constexpr double kLongestWait = 24 * 3600;
/// Processes that are signalled in one turn of the event loop, however many have expired.
constexpr int kMostAtOnce = 64;
constexpr std::size_t kMostOfScope = 200;

double seconds_since_epoch() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Another process listens there: a launcher that has started us, or one beside us.
bool is_read(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode) &&
         UniqueFd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
}

/// What an earlier one has left, or who has chosen the name. A device, a folder or a socket stays.
void remove_old(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 &&
      (S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode) || S_ISLNK(status.st_mode))) {
    (void)::unlink(path.c_str());
  }
}

/// Returns why not; empty: it is there.
std::string make_pipe(const std::string& path) {
  remove_old(path);
  return ::mkfifo(path.c_str(), kOwnersAlone) == 0
             ? std::string()
             : system_error("cannot make the pipe '" + path + "'", errno).message;
}

/// Ours, unless another launcher has put its own there.
std::string remove_pipe(const std::string& path) {
  if (!is_read(path)) {
    remove_old(path);
  }
  return {};
}

class FileTimer final : public Service {
 public:
  explicit FileTimer(ServiceInput input) : input_(std::move(input)) {}

  Result<std::optional<PlanAdditions>> start(const LaunchPlan& plan) override {
    if (variable(kSwitch) != "1") {
      return std::optional<PlanAdditions>(std::in_place);
    }
    const std::string own = input_.run_folder.empty() ? "" : input_.run_folder + "/watchdog_timer";
    const std::string given = variable(kFile);
    if (own.empty() && given.empty()) {
      return Error{ErrorKind::System,
                   "there is no folder for its pipe (TMPDIR names another place)"};
    }
    for (const WorkerPlan& worker : plan.workers) {
      ranks_.push_back(worker.global_rank.value);
    }
    path_ = given.empty() ? own : given;
    if (given.empty() || own.empty()) {
      make();
    } else {
      make_unless_read(own);
    }
    return std::optional<PlanAdditions>();
  }

  std::optional<Error> find_failure_at_exit_0(std::size_t worker, bool has_succeeded) override {
    const auto expired = expired_.find(ranks_.empty() ? -1 : ranks_.at(worker));
    return has_succeeded || expired == expired_.end()
               ? std::nullopt
               : std::optional(Error{ErrorKind::System, expired->second});
  }

  void stop() override {
    pipe_.reset();
    if (!path_.empty()) {
      input_.file_work.remove([path = std::exchange(path_, "")] { return remove_pipe(path); });
    }
  }

 private:
  [[nodiscard]] std::string variable(const char* name) const {
    const auto at = input_.variables.find(name);
    return at == input_.variables.end() ? std::string() : at->second;
  }

  /// As `AsyncFileIo::write`; nothing follows once this has been stopped.
  void work(AsyncFileIo::Work work, std::function<void(const AsyncFileIo::Answer&)> then) {
    input_.file_work.write("'" + path_ + "'",
                           std::move(work),
                           guarded([this, then = std::move(then)](const auto& answer) {
                             if (!path_.empty()) {
                               then(answer);
                             }
                           }));
  }

  void make_unless_read(const std::string& other_path) {
    work([path = path_] { return std::string(is_read(path) ? "read" : ""); },
         [this, other_path](const AsyncFileIo::Answer& answer) {
           if (answer && !answer->empty()) {
             path_ = other_path;
           }
           make();
         });
  }

  void make() {
    work([path = path_] { return make_pipe(path); },
         [this](const AsyncFileIo::Answer& answer) { take(answer); });
  }

  void take(const AsyncFileIo::Answer& answer) {
    if (!answer || !answer->empty()) {
      on_failure({ErrorKind::System,
                  answer
                      ? *answer
                      : "cannot make the pipe '" + path_ + "': its file system does not answer"});
      return;
    }
    auto pipe = input_.open_pipe(
        path_, {[this](std::string_view bytes) { on_bytes(bytes); }, [this] { look(); }});
    if (!pipe) {
      on_failure(pipe.error());
      return;
    }
    pipe_ = std::move(*pipe);
    on_ready({.environment = {{kFile, path_}}, .deferred_values = {}});
  }

  void on_bytes(std::string_view bytes) {
    const std::size_t refused = timers_.take(bytes);
    if (refused > 0 && !std::exchange(has_refused_, true)) {
      log_warning("ignoring a line in '" + path_ +
                  "': expected a request for a timer, as torch's FileTimerClient writes it");
    }
    look();
  }

  void look() {
    const double now = seconds_since_epoch();
    for (int i = 0; i < kMostAtOnce; ++i) {
      const auto timer = timers_.expire(now);
      if (!timer) {
        break;
      }
      end(*timer);
    }
    const auto next = timers_.next();
    if (!next) {
      pipe_->wake_after(std::nullopt);
      return;
    }
    const std::chrono::duration<double> delay(std::clamp(*next - now, 0.0, kLongestWait));
    pipe_->wake_after(std::chrono::duration_cast<std::chrono::nanoseconds>(delay) + kRounding);
  }

  /// Of a process that is none of ours nothing is said: anybody who may open the pipe can name one.
  void end(const file_timer::Timer& timer) {
    const std::string what = "the timer '" + one_line(timer.scope, kMostOfScope) + "' of process " +
                             std::to_string(timer.pid) + " has expired";
    const auto rank = input_.signal_process(timer.pid, std::max(timer.signal, 0));
    if (!rank) {
      log_debug(what + ", which is no process of this job's workers any more");
    } else if (timer.signal <= 0) {
      log_warning(what + ", and asks for no signal");
    } else {
      const std::string sent = what + ", sent it " + signal_name(timer.signal);
      log_warning(sent);
      expired_.emplace(*rank, sent);
    }
  }

  ServiceInput input_;
  std::string path_;        ///< empty: there is none
  std::vector<int> ranks_;  ///< by worker
  std::unique_ptr<NamedPipe> pipe_;
  file_timer::Timers timers_;
  bool has_refused_ = false;
  std::map<int, std::string> expired_;  ///< by rank: what it has got a signal for
};

}  // namespace

std::unique_ptr<Service> make_file_timer(const ServiceInput& input) {
  return std::make_unique<FileTimer>(input);
}

}  // namespace muster
