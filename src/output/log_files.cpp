// Sends commands for log files to their writer process, and turns its status into sentences.
#include "output/log_files.hpp"

#include "base/log.hpp"
#include "base/text.hpp"
#include "output/writer_process.hpp"

#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace muster {
namespace {

std::string order(LogCommand::Kind kind, const LogFile& file, std::uint64_t size) {
  const LogCommand order{kind, file.number, size};
  return {reinterpret_cast<const char*>(&order), sizeof order};  // NOLINT: its reader is a copy of us
}

}  // namespace

LogFiles::LogFiles(boost::asio::io_context& io, HelperProcesses& helpers, std::chrono::milliseconds stall,
                   QueueOwner& owner)
    : io_(io), helpers_(helpers), stall_(stall), owner_(owner), open_timer_(io, stall, [this] {
        stop_waiting_for_files();
      }) {}

LogFiles::~LogFiles() = default;

Result<> LogFiles::start() {
  if (queue_ && !queue_->is_broken()) {
    return {};
  }
  // Drops a writer process that was killed, for example by the OOM killer: the disk itself may be fine.
  give_up();
  queue_.reset();
  unknown_ = 0;
  auto writer = WriterProcess::start(io_, helpers_, std::nullopt, /*has_run_workers=*/!are_needed_);
  if (!writer) {
    return writer.error();
  }
  (*writer)->on_status = [this](const WriterStatus& status) { take_status(status); };
  queue_ = std::make_unique<OutputQueue>(io_, std::move(*writer), SinkNames{"log files", "log line"}, stall_, this);
  return {};
}

void LogFiles::on_queue_writable() {
  if (queue_->is_stalled()) {
    stop_waiting_for_files();
  }
  owner_.on_queue_writable();
}

std::shared_ptr<LogFile> LogFiles::open(const std::string& path) {
  auto file = std::make_shared<LogFile>();
  file->number = static_cast<std::uint32_t>(files_.size());
  file->path = path;
  files_.push_back(file);
  if (auto started = start(); !started) {
    file->opened = std::move(started);
    return file;
  }
  ++unknown_;
  queue_->write_always(order(LogCommand::Kind::Open, *file, path.size()) + path);
  return file;
}

void LogFiles::write(LogFile& file, std::string_view bytes) {
  if (bytes.empty() || !queue_) {
    return;
  }
  if (queue_->is_stalled() || queue_->is_broken()) {
    (void)queue_->write(bytes);  // counts the dropped lines
    file.missing_bytes += bytes.size();
    return;
  }
  forget_arrived();
  const std::uint64_t end = queue_->accepted() + sizeof(LogCommand) + bytes.size();
  on_the_way_.push_back({files_[file.number], bytes.size(), end});
  queue_->write_always(order(LogCommand::Kind::Write, file, bytes.size()));
  queue_->write_always(bytes);
}

void LogFiles::close(const LogFile& file) {
  if (queue_) {
    queue_->write_always(order(LogCommand::Kind::Close, file, 0));
  }
}

void LogFiles::forget_arrived() {
  while (!on_the_way_.empty() && on_the_way_.front().end <= queue_->arrived()) {
    on_the_way_.pop_front();
  }
}

// --- Status of the writer -------------------------------------------------------------------------

void LogFiles::take_status(const WriterStatus& status) {
  LogFile& file = *files_.at(status.file);
  if (status.kind == WriterStatus::Kind::Opened) {
    note_opened(file, status.error_number);
  } else {
    if (status.loss.error_number != 0 && file.missing_bytes == 0) {
      log_warning("cannot write '" + file.path + "': " + std::generic_category().message(status.loss.error_number) +
                  ", going on without it");
    }
    file.missing_bytes += status.loss.bytes;
    if (status.loss.error_number == 0) {
      log_info("'" + file.path + "' can be written again, and lacks " + count_of(file.missing_bytes, "byte"));
    }
  }
}

void LogFiles::note_opened(LogFile& file, int error_number) {
  is_late_ = false;
  file.opened =
      error_number == 0 ? Result<>() : system_error("cannot create the log file '" + file.path + "'", error_number);
  if (!*file.opened && !are_needed_) {
    log_warning(file.opened->error().message + ", going on without it");
    file.opened = Result<>();
  }
  if (--unknown_ == 0) {
    go_on();
  }
}

// --- Waiting for files ----------------------------------------------------------------------------

bool LogFiles::are_open(const std::function<void()>& next) {
  // While the queue is stalled, no file is created either.
  is_late_ = is_late_ || (unknown_ > 0 && queue_->is_stalled());
  if (unknown_ == 0 || is_late_ || !are_needed_) {
    are_needed_ = false;
    return true;
  }
  when_open_ = next;
  open_timer_.ask();
  return false;
}

void LogFiles::stop_waiting_for_files() {
  if (!when_open_) {
    return;
  }
  is_late_ = true;
  log_warning("the file system of '" + files_.back()->path + "' does not respond, going on without waiting for it");
  go_on();
}

void LogFiles::go_on() {
  if (auto next = std::exchange(when_open_, {})) {
    are_needed_ = false;
    boost::asio::post(io_, std::move(next));
  }
  open_timer_.cancel();
}

void LogFiles::stop_waiting() {
  when_open_ = {};
  open_timer_.cancel();
}

// --- The end ------------------------------------------------------------------------------------

void LogFiles::give_up() {
  if (!queue_) {
    return;
  }
  forget_arrived();
  const std::uint64_t arrived = queue_->arrived();
  for (const InFlight& bytes : on_the_way_) {
    bytes.file->missing_bytes += std::min(bytes.size, bytes.end - arrived);
  }
  on_the_way_.clear();
  if (!queue_->is_broken()) {
    (void)queue_->give_up();  // the loss is reported for each file
  }
}

std::vector<std::string> LogFiles::describe_missing() {
  if (queue_ && (queue_->is_stalled() || queue_->is_broken())) {
    give_up();
  }
  std::vector<std::string> sentences;
  const auto is_missing = [](const auto& file) { return !file->opened; };
  const auto first = std::find_if(files_.begin(), files_.end(), is_missing);
  if (first != files_.end()) {
    const auto count = std::count_if(first, files_.end(), is_missing);
    sentences.push_back(count_of(static_cast<std::uint64_t>(count), "log file") +
                        " could not be made in time, such as '" + (*first)->path + "'");
  }
  for (const auto& file : files_) {
    if (file->missing_bytes > 0) {
      sentences.push_back("'" + file->path + "' lacks " + count_of(file->missing_bytes, "byte") +
                          " that could not be written");
    }
  }
  return sentences;
}

}  // namespace muster
