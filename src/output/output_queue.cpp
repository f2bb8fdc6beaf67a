// Queues bytes that a device does not take at once, and detects stalls.
#include "output/output_queue.hpp"

#include "base/log.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace muster {
namespace {

std::uint64_t count_lines(std::string_view bytes) {
  return static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
}

}  // namespace

OutputQueue::OutputQueue(boost::asio::io_context& io, std::unique_ptr<ByteSink> device, SinkNames names,
                         Clock::duration stall, QueueOwner* owner)
    : names_(std::move(names)), stall_(stall), byte_sink_(std::move(device)), stall_timer_(io), owner_(owner) {
  if (!byte_sink_ || byte_sink_->failure() != 0) {
    state_ = State::Broken;
  } else {
    byte_sink_->report_losses_to(*this);
  }
}

bool OutputQueue::write(std::string_view bytes) {
  lines_.set_writer(nullptr);
  if (state_ == State::Flowing) {
    lines_.note(bytes);
  }
  return put(bytes);
}

bool OutputQueue::write_in_line(std::string_view bytes, const void* writer) {
  if (bytes.empty()) {
    return true;
  }
  if (!lines_.may_continue(writer)) {
    (void)put(end_line());
  }
  const bool is_marked = is_terminal() && state_ == State::Flowing;
  const bool is_taken = is_marked ? put(lines_.mark(bytes)) : put(bytes);
  lines_.set_writer(writer);
  return is_taken;
}

/// Output that ends the line of the cursor and undoes changes to the terminal.
std::string OutputQueue::end_line() {
  std::string end = state_ == State::Flowing ? lines_.write_reset() : std::string();
  end += lines_.is_at_start() ? "" : "\n";
  lines_.set_writer(nullptr);
  return end;
}

bool OutputQueue::put(std::string_view bytes) {
  if (bytes.empty()) {
    return true;
  }
  if (state_ != State::Flowing) {
    dropped_lines_ += state_ == State::Stalled ? count_lines(bytes) : 0;
    return false;
  }
  const std::string with_rows = lines_.with_rows(bytes, queued());
  enqueue(with_rows.empty() ? bytes : with_rows);  // in one write, so that nothing flickers
  return true;
}

void OutputQueue::draw_rows() {
  lines_.note_size();
  if (state_ == State::Flowing) {
    enqueue(lines_.draw_rows(queued()));
  }
}

void OutputQueue::write_always(std::string_view bytes) {
  if (state_ == State::Stalled) {
    accepted_ += bytes.size();
    queue_.append(bytes);  // bytes are queued before these, and the device is being waited for
  } else if (state_ == State::Flowing) {
    enqueue(bytes);
  }
}

void OutputQueue::enqueue(std::string_view bytes) {
  accepted_ += bytes.size();
  if (queued() == 0) {
    bytes = write_now(bytes);  // the queue is empty: queue only the rest that is not taken
  }
  if (!bytes.empty() && state_ == State::Flowing && !is_abandoned_) {
    queue_.append(bytes);
    flush();
  }
}

/// Writes the bytes that are taken at once and returns the rest.
std::string_view OutputQueue::write_now(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t taken = write_some(bytes);
    if (taken < 0) {
      break;
    }
    bytes.remove_prefix(static_cast<std::size_t>(taken));
  }
  return bytes;
}

void OutputQueue::write_message(std::string_view line) {
  (void)put(end_line().append(line));
}

/// Returns the number of bytes taken, or -1 when none can be taken now or ever.
ssize_t OutputQueue::write_some(std::string_view bytes) {
  ssize_t taken = -1;
  do {
    taken = byte_sink_->write_some(bytes);
  } while (taken < 0 && errno == EINTR);
  if (taken < 0 && errno != EAGAIN) {
    break_with(errno);
  }
  return taken > 0 ? taken : -1;
}

void OutputQueue::flush() {
  while (queued() > 0 && state_ != State::Broken) {
    const ssize_t taken = write_some(std::string_view(queue_).substr(written_));
    if (taken < 0) {
      break;
    }
    note_progress(static_cast<std::size_t>(taken));
  }
  if (state_ == State::Broken) {
    return;
  }
  if (queued() == 0) {
    shrink();
  } else {
    wait_for_device();
    watch_for_stall();
  }
  was_congested_ = was_congested_ || is_congested();
  if (was_congested_ && queued() < kWritableBelow) {
    note_writable();
  } else {
    note_settled();
  }
}

void OutputQueue::shrink() {
  queue_.clear();
  written_ = 0;
  if (queue_.capacity() > kMost) {
    queue_.shrink_to_fit();
  }
}

void OutputQueue::note_writable() {
  was_congested_ = false;
  if (owner_ != nullptr) {
    owner_->on_queue_writable();
  }
  note_settled();
}

void OutputQueue::break_if_failed() {
  if (state_ != State::Broken && byte_sink_->failure() != 0) {
    break_with(byte_sink_->failure());
  }
}

/// Notes who waits before the queue catches up with its byte sink: messages of the writer process that are read meanwhile may
/// already complete the drain. Where that process has ended, waiting for the sink returns at once.
bool OutputQueue::drain() {
  if (is_abandoned_) {
    return true;
  }
  const bool was_settled = is_drained();
  is_drain_awaited_ = !was_settled;
  if (state_ != State::Broken) {
    byte_sink_->catch_up();
    break_if_failed();
  }
  if (is_drain_awaited_) {
    wait_for_device();
  }
  return was_settled;
}

void OutputQueue::note_settled() {
  if (!is_drain_awaited_) {
    return;
  }
  if (is_drained()) {
    is_drain_awaited_ = false;
    if (owner_ != nullptr) {
      owner_->on_queue_drained();
    }
  } else {
    wait_for_device();
  }
}

void OutputQueue::note_progress(std::size_t bytes) {
  written_ += bytes;
  last_progress_ = Clock::now();
  if (written_ > kMost) {  // rarely, because it moves the rest
    queue_.erase(0, written_);
    written_ = 0;
  }
}

void OutputQueue::wait_for_device() {
  if (waits_ || is_abandoned_) {
    return;
  }
  waits_ = true;
  byte_sink_->when_ready(*this);
}

void OutputQueue::on_ready() {
  waits_ = false;
  break_if_failed();
  flush();
  if (state_ == State::Stalled && queued() == 0) {
    const std::uint64_t dropped = dropped_lines_ - logged_dropped_;
    const std::string warning = describe_dropped(dropped);
    logged_dropped_ = dropped_lines_;
    state_ = State::Flowing;
    if (dropped > 0) {
      log_warning(warning);
    }
  }
  draw_rows();
}

void OutputQueue::watch_for_stall() {
  if (!stall_timer_.is_pending() && state_ == State::Flowing) {
    last_progress_ = Clock::now();
    stall_timer_.start(stall_, [this] { on_stall_timer(); });
  }
}

void OutputQueue::on_stall_timer() {
  if (state_ != State::Flowing || queued() == 0) {
    return;
  }
  if (const auto left = last_progress_ + stall_ - Clock::now(); left > Clock::duration::zero()) {
    stall_timer_.start(left, [this] { on_stall_timer(); });  // bytes were taken in the meantime
    return;
  }
  state_ = State::Stalled;
  note_writable();  // the workers go on; from here on their lines for this device are dropped
}

std::string OutputQueue::describe_dropped(std::uint64_t lines) const {
  const bool is_stall = state_ == State::Stalled || was_stalled_;
  return count_of(lines, names_.line) + " dropped: " + names_.name +
         (is_stall ? " accepted no output for longer than --console-stall" : " had not taken them when the job ended");
}

/// Logs once that a disk is full, and what is missing each time that the disk takes bytes again.
void OutputQueue::on_loss(const FileLoss& loss) {
  if (loss.error_number == EPIPE || loss.error_number == EBADF) {
    break_with(loss.error_number);  // it will never be written
    return;
  }
  lost_lines_ += loss.lines;
  if (loss.error_number == 0) {
    if (const std::string lost = take_lost(); !lost.empty()) {
      log_warning(lost);
    }
  } else if (std::exchange(loss_error_, loss.error_number) == 0) {
    log_warning("cannot write to " + names_.name + ": " + std::generic_category().message(loss_error_) +
                ", going on without it");
  }
}

std::string OutputQueue::take_lost() {
  const std::uint64_t lines = std::exchange(lost_lines_, 0);
  return lines == 0 ? std::string()
                    : count_of(lines, names_.line) + " lost while " + names_.name +
                          " could not be written: " + std::generic_category().message(loss_error_);
}

std::uint64_t OutputQueue::discard() {
  dropped_lines_ += count_lines(std::string_view(queue_).substr(written_));
  queue_.clear();
  written_ = 0;
  is_abandoned_ = true;
  was_stalled_ = was_stalled_ || state_ == State::Stalled;
  if (byte_sink_) {
    byte_sink_->stop_waiting();
  }
  is_drain_awaited_ = false;
  owner_ = nullptr;
  stall_timer_.cancel();
  return dropped_lines_ - std::exchange(logged_dropped_, dropped_lines_);
}

std::uint64_t OutputQueue::give_up() {
  const bool is_awaited = std::exchange(is_drain_awaited_, false);
  QueueOwner* const owner = std::exchange(owner_, nullptr);
  dropped_lines_ += byte_sink_ ? byte_sink_->give_up() : 0;
  const std::uint64_t lines = discard();
  state_ = byte_sink_ && byte_sink_->is_file() ? State::Broken : state_;
  if (owner != nullptr) {
    owner->on_queue_writable();
  }
  if (owner != nullptr && is_awaited) {
    owner->on_queue_drained();
  }
  return lines;
}

void OutputQueue::break_with(int error_number) {
  state_ = State::Broken;
  queue_.clear();
  written_ = 0;
  const bool is_closed =
      error_number == EPIPE || error_number == EBADF || error_number == ECONNRESET || error_number == EIO;
  log_warning((is_closed ? names_.name + " is closed"
                         : "cannot write to " + names_.name + ": " + std::generic_category().message(error_number)) +
              ", going on without it");
  note_writable();
}

}  // namespace muster
