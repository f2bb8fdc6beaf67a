// Opens the consoles, reports when all output is written, and limits how long the end of a job waits for files.
#include "output/output_queues.hpp"

#include "base/log.hpp"
#include "output/byte_sink.hpp"
#include "output/writer_process.hpp"
#include "process/inherited.hpp"

#include <boost/asio/post.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace muster {
namespace {

/// Interval in which the drain deadline looks for progress.
constexpr OutputQueues::Duration kInterval{50};
/// Time for the final messages of the exit report.
constexpr OutputQueues::Duration kLastMoment{300};

bool is_same_file(int left, int right) {
  struct stat a {};
  struct stat b {};
  return ::fstat(left, &a) == 0 && ::fstat(right, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// Writes to a file go through a writer process, because a file system may hang.
std::unique_ptr<ByteSink> make_byte_sink(boost::asio::io_context& io, HelperProcesses& helpers, int fd) {
  if (was_closed(fd)) {
    return nullptr;
  }
  if (kind_of_stream(fd) == StreamKind::File) {
    if (auto writer = WriterProcess::start(io, helpers, fd)) {
      return std::move(*writer);
    }
  }
  return std::make_unique<NonblockingFd>(io, fd);  // a console that may block is better than none
}

void watch_launcher_terminal(OutputQueue& console, const std::optional<std::size_t>& columns) {
  if (columns) {
    console.lines().watch_terminal(*columns);
    console.lines().expect_hosts();
  }
}

}  // namespace

Terminals find_terminals() {
  const auto find = [](int fd) { return is_terminal(fd) ? std::optional(columns_of(fd)) : std::nullopt; };
  return {find(STDOUT_FILENO), find(STDERR_FILENO)};
}

void OutputQueues::on_queue_writable() {
  if (on_writable) {
    on_writable();
  }
}

void OutputQueues::on_queue_drained() {
  boost::asio::post(io_, next_);
}

OutputQueues::OutputQueues(boost::asio::io_context& io, HelperProcesses& helpers, Duration stall)
    : io_(io), logs_(io, helpers, stall, *this), poll_timer_(io, kInterval, [this] { check_progress(); }) {
  const auto make = [&](int fd, const char* name) {
    auto console = std::make_unique<OutputQueue>(io, make_byte_sink(io, helpers, fd), SinkNames{name, "console line"},
                                                 stall, this);
    if (is_terminal(fd)) {
      console->lines().watch_terminal(columns_of(fd), fd);
    }
    return console;
  };
  error_ = make(STDERR_FILENO, "standard error");
  if (!is_same_file(STDOUT_FILENO, STDERR_FILENO)) {
    out_ = make(STDOUT_FILENO, "standard output");
  }
  set_log_sink([this](std::string_view line) { error_->write_message(line); });
  if (was_closed(STDOUT_FILENO) || (out_ && out_->is_broken())) {
    log_warning("standard output is closed, going on without it");
  }
}

void OutputQueues::watch_launcher_terminals(const Terminals& terminals) {
  watch_launcher_terminal(out(), terminals.out);
  watch_launcher_terminal(error(), terminals.error);
}

int OutputQueues::descriptor(bool is_error) const {
  return is_error || !out_ ? STDERR_FILENO : STDOUT_FILENO;
}

OutputQueues::~OutputQueues() {
  set_log_sink({});  // the console that takes log lines is destroyed here
}

std::vector<OutputQueue*> OutputQueues::all() {
  std::vector<OutputQueue*> queues = {error_.get(), out_.get(), logs_.queue()};
  std::erase(queues, nullptr);
  return queues;
}

bool OutputQueues::drain(const std::function<void()>& next) {
  next_ = next;
  bool is_drained = true;
  for (OutputQueue* const queue : all()) {
    is_drained = queue->drain() && is_drained;
  }
  return is_drained;
}

std::vector<std::string> OutputQueues::describe_undrained() {
  std::vector<std::string> names;
  for (const OutputQueue* const queue : {out_.get(), error_.get(), logs_.queue()}) {
    if (queue != nullptr && !queue->is_drained()) {
      names.push_back("the last lines for " + queue->name());
    }
  }
  return names;
}

void OutputQueues::note_loss(const OutputQueue& console, std::uint64_t lines) {
  if (lines > 0) {
    losses_.push_back(console.describe_dropped(lines));
  }
}

void OutputQueues::discard_consoles() {
  for (OutputQueue* const queue : all()) {
    if (queue != logs_.queue()) {
      note_loss(*queue, queue->discard());
    }
  }
}

void OutputQueues::give_up(OutputQueue& queue) {
  if (&queue == logs_.queue()) {
    logs_.give_up();
  } else {
    note_loss(queue, queue.give_up());
  }
}

std::vector<std::string> OutputQueues::describe_losses() {
  for (OutputQueue* const queue : all()) {
    if (queue->is_stalled()) {
      give_up(*queue);
    }
    if (std::string lost = queue->take_lost(); !lost.empty()) {
      losses_.push_back(std::move(lost));
    }
  }
  std::vector<std::string> losses = logs_.describe_missing();
  losses.insert(losses.end(), losses_.begin(), losses_.end());
  return losses;
}

// The drain deadline polls for progress while bytes are queued.

void OutputQueues::start_deadline(Duration timeout) {
  left_ = timeout;
  poll_later();
}

void OutputQueues::extend_deadline() {
  left_ = std::max(left_, kLastMoment);
  poll_later();
}

std::vector<OutputQueue*> OutputQueues::awaited() {
  std::vector<OutputQueue*> queues = all();
  std::erase_if(queues, [](const OutputQueue* queue) { return !queue->awaits_file(); });
  return queues;
}

std::uint64_t OutputQueues::arrived() {
  std::uint64_t sum = 0;
  for (const OutputQueue* const queue : awaited()) {
    sum += queue->arrived();
  }
  return sum;
}

void OutputQueues::poll_later() {
  if (!poll_timer_.is_pending() && !awaited().empty()) {
    arrived_ = arrived();
    poll_timer_.ask();
  }
}

void OutputQueues::check_progress() {
  if (arrived() == arrived_) {  // none of the queued bytes has arrived
    left_ -= kInterval;
  }
  if (left_.count() > 0) {
    poll_later();
    return;
  }
  for (OutputQueue* const queue : awaited()) {
    give_up(*queue);
  }
}

}  // namespace muster
