// Implements the file timer of torch.distributed.elastic: parses timer requests from a named pipe and kills workers
// whose timers have expired. Any process that may open the pipe can write to it, so every request is validated.
#include "services/file_timer.hpp"

#include "base/file_io.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "services/services.hpp"
#include "supervise/exit_status.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <limits>

namespace muster::file_timer {
namespace {

std::optional<int> read_integer(const json::object& request, const char* name) {
  const json::value* const value = request.if_contains(name);
  if (value == nullptr || !value->is_int64() || value->get_int64() < std::numeric_limits<int>::min() ||
      value->get_int64() > std::numeric_limits<int>::max()) {
    return std::nullopt;
  }
  return static_cast<int>(value->get_int64());
}

/// Parses one request. `version` is 1 in all releases, and torch's server does not read it.
std::optional<Timer> read_request(std::string_view line) {
  boost::system::error_code error;
  json::parse_options limits;
  limits.max_depth = 4;
  const json::value document = json::parse(line, error, {}, limits);
  if (error || !document.is_object()) {
    return std::nullopt;
  }
  const json::object& request = document.get_object();
  const auto pid = read_integer(request, "pid");
  const auto signal = read_integer(request, "signal");
  const json::value* const expires = request.if_contains("expiration_time");
  const json::value* const scope = request.if_contains("scope_id");
  const bool has_integers = pid && *pid > 0 && signal && *signal <= SIGRTMAX;
  const bool has_time = expires != nullptr && expires->is_number();
  if (!has_integers || !has_time || scope == nullptr || !scope->is_string()) {
    return std::nullopt;
  }
  return Timer{*pid, std::string(scope->get_string()), expires->to_number<double>(), *signal};
}

}  // namespace

std::size_t Timers::take(std::string_view bytes) {
  std::size_t refused = 0;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    is_line_too_long_ = is_line_too_long_ || line_.size() + piece.size() > size_limits_.line_bytes;
    if (is_line_too_long_) {
      line_.clear();
    } else {
      line_ += piece;
    }
    if (end == std::string_view::npos) {
      break;
    }
    refused += std::exchange(is_line_too_long_, false) || !take_line(line_) ? 1 : 0;
    line_.clear();
    bytes.remove_prefix(end + 1);
  }
  return refused;
}

bool Timers::take_line(std::string_view line) {
  auto timer = read_request(line);
  if (!timer) {
    return false;
  }
  if (const auto old = timers_.find({timer->pid, timer->scope}); old != timers_.end()) {
    remove(old);
  }
  return timer->expires < 0 || set(std::move(*timer));
}

bool Timers::set(Timer timer) {
  if (timers_.size() >= size_limits_.timers || scope_bytes_ + timer.scope.size() > size_limits_.scope_bytes) {
    return false;
  }
  scope_bytes_ += timer.scope.size();
  const double expires = timer.expires;
  const Key key{timer.pid, timer.scope};
  const auto [at, is_new] = timers_.emplace(key, std::move(timer));
  by_time_.insert({expires, at->first.first, at->first.second});
  return true;
}

void Timers::remove(std::map<Key, Timer>::iterator timer) {
  by_time_.erase({timer->second.expires, timer->first.first, timer->first.second});
  scope_bytes_ -= timer->first.second.size();
  timers_.erase(timer);
}

std::optional<double> Timers::next() const {
  return by_time_.empty() ? std::nullopt : std::optional(std::get<double>(*by_time_.begin()));
}

std::optional<Timer> Timers::expire(double now) {
  const auto first = next();
  if (!first || *first > now) {
    return std::nullopt;
  }
  const auto& [time, pid, scope] = *by_time_.begin();
  Timer chosen = timers_.at({pid, std::string(scope)});
  for (auto at = timers_.lower_bound({chosen.pid, ""}); at != timers_.end() && at->first.first == chosen.pid;
       remove(at++)) {
    const Timer& timer = at->second;
    const bool is_first = chosen.signal <= 0 || timer.expires < chosen.expires;
    if (timer.expires <= now && timer.signal > 0 && is_first) {
      chosen = timer;
    }
  }
  return chosen;
}

}  // namespace muster::file_timer

namespace muster {

// The service: makes the pipe and kills workers whose timers have expired. Without a timer it never wakes up. Source:
// _setup_local_watchdog in torch/distributed/elastic/agent/server/local_elastic_agent.py of torch 2.13.

namespace {

constexpr const char* kSwitch = "TORCHELASTIC_ENABLE_FILE_TIMER";
constexpr const char* kFile = "TORCHELASTIC_TIMER_FILE";
/// Added to each delay: a wakeup before the timer expires would need a second one.
constexpr std::chrono::milliseconds kRounding{1};
/// Longest delay asked of the system at once, in seconds; the rest is waited for afterwards.
constexpr double kLongestWait = 24 * 3600;
/// Most processes that are signalled in one turn of the event loop; the others follow in the next turn.
constexpr int kMostRequestsAtOnce = 64;
constexpr std::size_t kMostOfScope = 200;

/// True: a process reads the pipe at `path`, such as a launcher that started this one or runs beside it.
bool is_read(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode) &&
         UniqueFd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
}

/// Removes a pipe, file or link of an earlier run or of the user at `path`. A device, directory or socket stays.
void remove_old(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 &&
      (S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode) || S_ISLNK(status.st_mode))) {
    (void)::unlink(path.c_str());
  }
}

using Paths = std::vector<std::string>;

/// Returns an error message; empty: the pipes exist.
std::string make_pipes(const Paths& paths) {
  for (const std::string& path : paths) {
    remove_old(path);
    if (::mkfifo(path.c_str(), kPrivateFileMode) != 0) {
      return system_error("cannot make the pipe '" + path + "'", errno).message;
    }
  }
  return {};
}

/// Leaves a pipe that another launcher has put there and reads.
std::string remove_pipes(const Paths& paths) {
  for (const std::string& path : paths) {
    if (!is_read(path)) {
      remove_old(path);
    }
  }
  return {};
}

class FileTimer final : public Service {
 public:
  explicit FileTimer(ServiceInput input) : input_(std::move(input)) {}

  Result<std::optional<PlanAdditions>> start(const LaunchPlan& plan) override {
    if (value_at(input_.variables, kSwitch) != "1" || plan.workers.empty()) {
      return std::optional<PlanAdditions>(std::in_place);
    }
    const std::string given = value_at(input_.variables, kFile);
    if (input_.run_folder.empty() && given.empty()) {
      return Error{ErrorKind::System, "there is no folder for its pipe (TMPDIR names another place)"};
    }
    for (const WorkerPlan& worker : plan.workers) {
      ranks_.push_back(worker.global_rank.value);
    }
    is_shared_ = !given.empty();
    paths_ = is_shared_ ? Paths{given} : own_paths();
    if (is_shared_ && !input_.run_folder.empty()) {
      make_unless_read();
    } else {
      make();
    }
    return std::optional<PlanAdditions>();
  }

  std::optional<Error> explain_end(std::size_t worker, bool has_succeeded) override {
    const auto expired = expired_.find(ranks_.empty() ? -1 : ranks_.at(worker));
    return has_succeeded || expired == expired_.end() ? std::nullopt
                                                      : std::optional(Error{ErrorKind::System, expired->second});
  }

  void stop() override {
    doors_.clear();
    if (!paths_.empty()) {
      input_.host->remove_files([paths = std::exchange(paths_, {})] { return remove_pipes(paths); });
    }
  }

 private:
  /// A named pipe, and the timers that were set through it. A request can name any process, so through the pipe of
  /// one worker only processes of this worker get a signal.
  struct Door final : PipeOwner {
    Door(FileTimer& its_service, std::string its_path, std::optional<int> its_rank)
        : service(its_service), path(std::move(its_path)), rank(its_rank) {}
    void on_bytes(std::string_view bytes) override { service.on_bytes(*this, bytes); }
    void on_time() override { service.on_time(*this); }

    FileTimer& service;
    std::string path;
    std::optional<int> rank;  ///< empty: all workers have this pipe
    file_timer::Timers timers;
    std::unique_ptr<NamedPipe> pipe;
  };

  Paths own_paths() const {
    Paths paths;
    for (std::size_t worker = 0; worker < ranks_.size(); ++worker) {
      paths.push_back(input_.run_folder + "/watchdog_timer_" + std::to_string(worker));
    }
    return paths;
  }

  /// `then` is not called after `stop`.
  void write(HelperTask::Work work, HelperTask::Then then) {
    input_.host->write_files("'" + paths_.front() + "'", std::move(work),
                             guarded([this, then = std::move(then)](const auto& answer) {
                               if (!paths_.empty()) {
                                 then(answer);
                               }
                             }));
  }

  void make_unless_read() {
    write([path = paths_.front()] { return std::string(is_read(path) ? "read" : ""); },
          [this](const HelperTask::Answer& answer) {
            if (answer && !answer->empty()) {
              is_shared_ = false;
              paths_ = own_paths();
            }
            make();
          });
  }

  void make() {
    write([paths = paths_] { return make_pipes(paths); }, [this](const HelperTask::Answer& answer) { take(answer); });
  }

  void take(const HelperTask::Answer& answer) {
    if (!answer || !answer->empty()) {
      report_failure(
          {ErrorKind::System,
           answer ? *answer : "cannot make the pipe '" + paths_.front() + "': its file system does not answer"});
      return;
    }
    PlanAdditions additions;
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      auto door = std::make_unique<Door>(*this, paths_[i], is_shared_ ? std::nullopt : std::optional(ranks_[i]));
      auto pipe = input_.host->open_pipe(paths_[i], *door);
      if (!pipe) {
        report_failure(pipe.error());
        return;
      }
      door->pipe = std::move(*pipe);
      doors_.push_back(std::move(door));
      (is_shared_ ? additions.environment : additions.environment_of[i])[kFile] = paths_[i];
    }
    report_ready(additions);
  }

  void on_bytes(Door& door, std::string_view bytes) {
    const std::size_t refused = door.timers.take(bytes);
    if (refused > 0 && !std::exchange(has_refused_, true)) {
      log_warning("ignoring a line in '" + door.path +
                  "': expected a request for a timer, as torch's FileTimerClient writes it");
    }
    on_time(door);
  }

  void on_time(Door& door) {
    const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    for (int i = 0; i < kMostRequestsAtOnce; ++i) {
      const auto timer = door.timers.expire(now);
      if (!timer) {
        break;
      }
      end(*timer, door.rank);
    }
    const auto next = door.timers.next();
    if (!next) {
      door.pipe->wake_after(std::nullopt);
      return;
    }
    const std::chrono::duration<double> delay(std::clamp(*next - now, 0.0, kLongestWait));
    door.pipe->wake_after(std::chrono::duration_cast<std::chrono::nanoseconds>(delay) + kRounding);
  }

  /// Sends the signal of an expired timer to its process. If the process belongs to no worker of this job, or to another
  /// worker than `only`, only logs this at debug level: whoever may open the pipe can write any pid.
  void end(const file_timer::Timer& timer, std::optional<int> only) {
    const std::string what = "the timer '" + one_line(timer.scope, kMostOfScope) + "' of process " +
                             std::to_string(timer.pid) + " has expired";
    const auto named = input_.host->rank_of(static_cast<std::uint32_t>(timer.pid));
    if (only && named && named != only) {
      log_debug(what + ", and the process belongs to rank " + std::to_string(*named) + "; rank " +
                std::to_string(*only) + " has set the timer, so muster sends no signal");
      return;
    }
    const auto rank = input_.host->signal_process(timer.pid, std::max(timer.signal, 0));
    if (!rank) {
      log_debug(what + ", and the process no longer belongs to a worker of this job");
    } else if (timer.signal <= 0) {
      log_warning(what + ", and the timer asks for no signal");
    } else {
      const std::string sent = what + ", sent it " + signal_name(timer.signal);
      log_warning(sent);
      expired_.emplace(*rank, sent);
    }
  }

  ServiceInput input_;
  bool is_shared_ = false;  ///< the user has named the pipe, so there is one for all workers
  Paths paths_;             ///< by worker, or the shared one; empty: no pipe
  std::vector<int> ranks_;  ///< global ranks, by worker
  std::vector<std::unique_ptr<Door>> doors_;
  bool has_refused_ = false;
  std::map<int, std::string> expired_;  ///< by rank: why it was sent a signal
};

}  // namespace

std::unique_ptr<Service> make_file_timer(const ServiceInput& input) {
  return std::make_unique<FileTimer>(input);
}

}  // namespace muster
