// One worker, then a look at what else has happened, then the next one.
#include "worker_starter.hpp"

#include <muster/base/null_device.hpp>

#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <unistd.h>

namespace muster {

std::optional<std::size_t> reader_of_input(const LaunchPlan& plan, const RunOptions& options) {
  if (options.stdin_rank) {
    const auto chosen = static_cast<std::size_t>(options.stdin_rank->value);
    return chosen < plan.workers.size() ? std::optional(chosen) : std::nullopt;
  }
  return plan.workers.size() == 1 ? std::optional<std::size_t>(0) : std::nullopt;
}

WorkerStarter::WorkerStarter(boost::asio::io_context& io, const StarterParts& parts)
    : io_(io), parts_(parts), null_input_(open_null(NullFor::Reading)) {}

void WorkerStarter::start() {
  boost::asio::post(io_, std::bind_front(&WorkerStarter::turn, this));
}

void WorkerStarter::go_on() {
  if (--*awaited_ == 0) {
    start();
  }
}

std::optional<std::size_t> WorkerStarter::cancel() {
  const bool is_news = !is_cancelled_ && next_ < parts_.plan.workers.size();
  is_cancelled_ = true;
  return is_news ? std::optional(next_) : std::nullopt;
}

void WorkerStarter::turn() {
  if (is_cancelled_ || next_ == parts_.plan.workers.size()) {
    return;
  }
  if (!awaited_) {
    awaited_ = before_first();
  }
  if (is_cancelled_ || *awaited_ > 0) {
    return;
  }
  const std::size_t worker = next_++;
  if (auto started = start_one(worker); !started) {
    is_cancelled_ = true;
    failure_ = StartFailure{worker, started.error()};
    on_failure(*failure_);
    return;
  }
  on_started(worker);
  start();
}

Result<> WorkerStarter::start_one(std::size_t worker) {
  const Result<std::string>& program = parts_.programs.of(worker);
  if (!program) {
    return program.error();
  }
  const bool reads_input = parts_.reader == worker;
  const auto connect = [this, worker](UniqueFd out, UniqueFd err) {
    return parts_.streams.connect(worker, std::move(out), std::move(err));
  };
  auto started = parts_.workers.start(worker,
                                      *program,
                                      reads_input ? STDIN_FILENO : null_input_.get(),
                                      reads_input ? parts_.terminal.fd() : -1,
                                      connect);
  if (started) {
    parts_.streams.note_start(worker, parts_.workers.pid(worker));
  }
  return started;
}

}  // namespace muster
