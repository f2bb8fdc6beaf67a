// Starts a standby, and talks to it by a pair of sockets.
#include "agent/standby_process.hpp"

#include "process/descendants.hpp"
#include "process/priority.hpp"
#include "process/socket_pair.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

namespace muster {
namespace {

/// Limit for sending a message: a standby takes it at once unless it is stopped.
constexpr std::chrono::milliseconds kMessageTimeout{100};

}  // namespace

Result<std::unique_ptr<StandbyProcess>> StandbyProcess::start(Spawner& spawner, const SpawnRequest& worker,
                                                              const OutputConnection& output,
                                                              const std::string& folder) {
  std::unique_ptr<StandbyProcess> standby(new StandbyProcess);
  auto ends = TRY(make_output_ends(output));
  auto [ours, theirs] = TRY(make_socket_pair());
  standby->socket_ = std::move(ours);
  // Cannot fail for a socket of ours. Python's end blocks.
  (void)::fcntl(standby->socket_.get(), F_SETFL, O_NONBLOCK);
  standby->request_ = worker;
  standby->output_ = output;
  const UniqueFd null_input = open_null(NullFor::Reading);
  SpawnRequest request = standby::with_sitecustomize(worker, folder, "stand_by", theirs.get());
  request.standard_input = worker.standard_input == STDIN_FILENO ? STDIN_FILENO : null_input.get();
  give_ends(request, ends.workers);
  standby->ours_ = std::move(ends.ours);
  auto spawned = TRY(spawner.spawn(request));
  standby->pid_ = spawned.pid;
  standby->pidfd_ = std::move(spawned.pidfd);
  if (!standby->pidfd_) {
    return Error{ErrorKind::System, "the kernel has no pidfds"};
  }
  standby->is_paced_ = !lower_priority(standby->pid_);
  return standby;
}

Result<> StandbyProcess::send_imports(const standby::Imports& imports, bool are_given) {
  const std::string message = standby::imports_message(imports, is_paced_, are_given);
  return write_all(socket_.get(), message, kMessageTimeout).missing > 0 ? Error{ErrorKind::System, "it does not read"}
                                                                        : Result<>();
}

StandbyProcess::~StandbyProcess() {
  const auto process = pid_ > 0 && !has_ended() ? find_process(pid_) : std::nullopt;
  if (process) {
    restore_priority(pid_);  // it needs a CPU to end
    kill_descendants(pid_);
    signal_exactly(*process, SIGKILL);
  }
}

bool StandbyProcess::has_ended() const {
  pollfd end{pidfd_.get(), POLLIN, 0};
  return ::poll(&end, 1, 0) > 0;
}

std::string StandbyProcess::obstacle(const SpawnRequest& worker, const OutputConnection& output) const {
  const auto process = has_ended() ? std::nullopt : find_process(pid_);
  if (!process) {
    return "it had ended";
  }
  const std::string status = read_regular_file("/proc/" + std::to_string(pid_) + "/status").value_or("");
  if (status.find("TracerPid:\t0\n") == std::string::npos) {
    return "a debugger has it";
  }
  if (status.find("ShdPnd:\t0000000000000000\n") == std::string::npos) {
    return "a signal waits for it";
  }
  if (process->state != 'S') {  // stopped, or in a call that does not end
    return std::string("it is in state ") + process->state;
  }
  return output_ == output ? standby::misfit(request_, worker) : "its output goes elsewhere";
}

std::optional<StartedStandby> StandbyProcess::become(const SpawnRequest& worker) && {
  restore_priority(pid_);
  if (write_all(socket_.get(), standby::order_message(request_, worker), kMessageTimeout).missing > 0) {
    return std::nullopt;
  }
  return StartedStandby{std::exchange(pid_, -1), std::move(pidfd_), std::move(ours_), std::move(socket_)};
}

}  // namespace muster
