// Opens the consoles, reports when they have taken everything, and limits how long the end of a job waits for files.
#include "output/consoles.hpp"

#include "agent/run.hpp"
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
    auto writer =
        WriterProcess::start(io, helpers, fd, [fd](const WriterChannel& ends) { write_to_descriptor(ends, fd); });
    if (writer) {
      return std::move(*writer);
    }
  }
  return std::make_unique<NonblockingFd>(io, fd);  // a console that may block is better than none
}

/// Width of a terminal in columns; 0: unknown.
std::size_t width_of(int terminal) {
  return window_size_of(terminal).value_or(WindowSize()).columns;
}

void watch_launcher_terminal(OutputQueue& console, const std::optional<std::size_t>& columns) {
  if (columns) {
    console.watch_terminal([width = *columns] { return width; });
    console.expect_hosts();
  }
}

}  // namespace

Terminals find_terminals() {
  const auto find = [](int fd) { return is_terminal(fd) ? std::optional(width_of(fd)) : std::nullopt; };
  return {find(STDOUT_FILENO), find(STDERR_FILENO)};
}

Consoles::Consoles(boost::asio::io_context& io, HelperProcesses& helpers, std::chrono::milliseconds stall) : io_(io) {
  const auto make = [&](int fd, const char* name) {
    return std::make_unique<OutputQueue>(io, make_byte_sink(io, helpers, fd), SinkNames{name, "console line"}, stall);
  };
  error_ = make(STDERR_FILENO, "standard error");
  if (!is_same_file(STDOUT_FILENO, STDERR_FILENO)) {
    out_ = make(STDOUT_FILENO, "standard output");
  }
  for (OutputQueue* const console : all()) {
    console->on_writable = [this] { pass_writable_on(); };
    console->on_warning = [](const std::string& warning) { log_warning(warning); };
  }
  watch_terminals();
  set_log_sink([this](std::string_view line) { error_->write_message(line); });
  if (was_closed(STDOUT_FILENO) || (out_ && out_->is_broken())) {
    log_warning("standard output is closed, going on without it");
  }
}

void Consoles::watch_terminals() {
  if (is_terminal(STDERR_FILENO)) {
    error_->watch_terminal([] { return width_of(STDERR_FILENO); });
  }
  if (out_ && is_terminal(STDOUT_FILENO)) {
    out_->watch_terminal([] { return width_of(STDOUT_FILENO); });
  }
}

void Consoles::watch_launcher_terminals(const Terminals& terminals) {
  watch_launcher_terminal(out(), terminals.out);
  watch_launcher_terminal(error(), terminals.error);
}

int Consoles::descriptor(bool is_error) const {
  return is_error || !out_ ? STDERR_FILENO : STDOUT_FILENO;
}

Consoles::~Consoles() {
  set_log_sink({});  // the console that takes log lines is destroyed here
}

void Consoles::pass_writable_on() const {
  if (on_writable) {
    on_writable();
  }
}

std::vector<OutputQueue*> Consoles::all() const {
  std::vector<OutputQueue*> consoles = {error_.get()};
  if (out_) {
    consoles.push_back(out_.get());
  }
  return consoles;
}

bool Consoles::are_settled(const std::function<void()>& next) {
  const auto come_back = [this, next] { boost::asio::post(io_, next); };
  bool is_drained = true;
  for (OutputQueue* const console : all()) {
    is_drained = console->drain(come_back) && is_drained;
  }
  return is_drained;
}

void Consoles::note_loss(const OutputQueue& console, std::uint64_t lines) {
  if (lines > 0) {
    losses_.push_back(console.describe_dropped(lines));
  }
}

void Consoles::discard() {
  for (OutputQueue* const console : all()) {
    note_loss(*console, console->discard());
  }
}

void Consoles::give_up(OutputQueue& console) {
  note_loss(console, console.give_up());
}

std::vector<std::string> Consoles::describe_losses() {
  for (OutputQueue* const console : all()) {
    if (console->is_stalled()) {
      give_up(*console);
    }
  }
  return losses_;
}

// The drain deadline polls for progress while bytes are queued.

namespace {

constexpr DrainDeadline::Duration kInterval{50};
/// Time for the final messages of the exit report.
constexpr DrainDeadline::Duration kLastMoment{300};

}  // namespace

void DrainDeadline::start(Duration timeout) {
  left_ = timeout;
  poll_later();
}

void DrainDeadline::go_on() {
  left_ = std::max(left_, kLastMoment);
  poll_later();
}

std::vector<OutputQueue*> DrainDeadline::awaited() {
  std::vector<OutputQueue*> sinks = consoles_.all();
  if (logs_ != nullptr && logs_->sink() != nullptr) {
    sinks.push_back(logs_->sink());
  }
  std::erase_if(sinks, [](const OutputQueue* sink) { return !sink->awaits_file(); });
  return sinks;
}

std::uint64_t DrainDeadline::arrived() {
  std::uint64_t sum = 0;
  for (const OutputQueue* const sink : awaited()) {
    sum += sink->arrived();
  }
  return sum;
}

void DrainDeadline::poll_later() {
  if (is_waiting_ || awaited().empty()) {
    return;
  }
  is_waiting_ = true;
  arrived_ = arrived();
  timer_.expires_after(kInterval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    is_waiting_ = false;
    if (!error) {
      check();
    }
  });
}

void DrainDeadline::check() {
  if (arrived() == arrived_) {  // none of the queued bytes has arrived
    left_ -= kInterval;
  }
  if (left_.count() > 0) {
    poll_later();
  } else {
    give_up();
  }
}

void DrainDeadline::give_up() {
  for (OutputQueue* const sink : awaited()) {
    if (logs_ != nullptr && sink == logs_->sink()) {
      logs_->give_up();
    } else {
      consoles_.give_up(*sink);
    }
  }
}

}  // namespace muster
