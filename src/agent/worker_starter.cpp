// One worker, then a look at what else has happened, then the next one.
#include "agent/worker_starter.hpp"

#include "base/null_device.hpp"

#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <unistd.h>

namespace muster {

std::optional<std::size_t> reader_of_input(const LaunchPlan& plan, const RunOptions& options) {
  const bool is_chosen = options.input_for == InputFor::ChosenWorker;
  const auto reader = is_chosen ? static_cast<std::size_t>(options.input_rank.value) : 0;
  const bool has_one = is_chosen ? reader < plan.workers.size() : plan.workers.size() == 1;
  return has_one && options.input_for != InputFor::Nobody ? std::optional(reader) : std::nullopt;
}

WorkerStarter::WorkerStarter(boost::asio::io_context& io, const StarterParts& parts)
    : io_(io),
      parts_(parts),
      reader_(reader_of_input(parts.plan, parts.options)),
      null_input_(open_null(NullFor::Reading)) {}

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
  if (const Result<>& prepared = parts_.error_files.prepared(); !prepared) {
    return prepared.error();
  }
  const bool has_input_alone = reader_ == worker;
  const bool reads_input = has_input_alone || parts_.options.input_for == InputFor::All;
  auto started = parts_.workers.start(
      worker,
      {.executable = *program,
       .standard_input = reads_input ? STDIN_FILENO : null_input_.get(),
       // Who may have the terminal stays where it belongs to: another session could not be its foreground.
       .leads_session = !(has_input_alone && parts_.terminal.is_wanted()),
       .terminal = has_input_alone ? parts_.terminal.fd() : -1,
       .output = parts_.streams.way_of(worker),
       .connect = [this, worker](StreamEnds ends) {
         return parts_.streams.connect(worker, std::move(ends));
       }});
  if (started) {
    parts_.streams.note_start(worker, parts_.workers.pid(worker));
  }
  return started;
}

}  // namespace muster
