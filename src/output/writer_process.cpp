// The part of the output that waits for file systems.
#include "output/writer_process.hpp"

#include "output/open_log_file.hpp"

#include "base/write_all.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>

namespace muster {
namespace {

/// What is in one write: progress is seen as often.
constexpr std::size_t kMostAtOnce = std::size_t{64} << 10U;

/// False: nothing will come any more.
bool wait_for_bytes(const WriterChannel& ends) {
  ends.ring.taker_sleeps() = true;
  if (!ends.ring.next().empty()) {  // it came before the flag was set
    ends.ring.taker_sleeps() = false;
    return true;
  }
  std::array<char, 64> rings{};
  ssize_t count = -1;
  do {
    count = ::read(ends.bell, rings.data(), rings.size());
  } while (count < 0 && errno == EINTR);
  ends.ring.taker_sleeps() = false;
  return count > 0 || !ends.ring.next().empty();
}

/// As many as are written at once. Empty: nothing will come any more.
std::string_view next_bytes(const WriterChannel& ends) {
  while (ends.ring.next().empty() && wait_for_bytes(ends)) {
  }
  return ends.ring.next().substr(0, kMostAtOnce);
}

/// Reads orders, which may come in pieces, and carries them out.
class LogCommands {
 public:
  explicit LogCommands(const WriterChannel& ends) : ends_(ends) {}

  void feed(std::string_view bytes) {
    while (!bytes.empty()) {
      bytes.remove_prefix(has_ < sizeof order_ ? feed_order(bytes) : feed_content(bytes));
    }
  }

 private:
  std::size_t feed_order(std::string_view bytes) {
    const std::size_t count = std::min(bytes.size(), sizeof order_ - has_);
    std::memcpy(reinterpret_cast<char*>(&order_) + has_,
                bytes.data(),
                count);  // NOLINT: it has no other form
    has_ += count;
    if (has_ == sizeof order_) {
      left_ = order_.size;
      finish_order();
    }
    return count;
  }

  std::size_t feed_content(std::string_view bytes) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left_));
    if (order_.kind == LogCommand::Kind::Write) {
      write(bytes.substr(0, count));
    } else {
      path_.append(bytes.substr(0, count));
    }
    left_ -= count;
    finish_order();
    return count;
  }

  void finish_order() {
    if (left_ > 0) {
      return;
    }
    has_ = 0;
    if (order_.kind == LogCommand::Kind::Open) {
      open();
    } else if (order_.kind == LogCommand::Kind::Close) {
      files_.erase(order_.file);
    }
  }

  void open() {
    OpenLogFile file;
    const int error_number = file.create(path_);
    path_.clear();
    if (error_number == 0) {
      files_.emplace(order_.file, std::move(file));
    }
    ends_.send(
        {.kind = WriterStatus::Kind::Opened, .file = order_.file, .error_number = error_number});
  }

  void write(std::string_view bytes) {
    const auto file = files_.find(order_.file);
    const WriteResult written =
        file == files_.end() ? WriteResult{bytes.size(), EBADF} : file->second.write(bytes);
    if (written.missing > 0) {
      ends_.send({.kind = WriterStatus::Kind::Lacks,
                  .file = order_.file,
                  .error_number = written.error_number,
                  .missing = written.missing});
    }
  }

  const WriterChannel& ends_;
  LogCommand order_;
  std::size_t has_ = 0;     ///< bytes of the order itself
  std::uint64_t left_ = 0;  ///< bytes behind it
  std::string path_;
  std::map<std::uint32_t, OpenLogFile> files_;
};

}  // namespace

void WriterChannel::send(const WriterStatus& what) const {
  (void)write_all(news, {reinterpret_cast<const char*>(&what), sizeof what});  // NOLINT: one write
}

void take_all(const WriterChannel& ends, const std::function<void(std::string_view)>& write) {
  for (std::string_view bytes = next_bytes(ends); !bytes.empty(); bytes = next_bytes(ends)) {
    write(bytes);
    ends.ring.take(bytes.size());
    if (ends.ring.putter_waits().exchange(false)) {
      ends.send({});
    }
  }
}

void write_to_descriptor(const WriterChannel& ends, int fd) {
  take_all(ends, [&](std::string_view bytes) {
    if (const WriteResult written = write_all(fd, bytes); written.missing > 0) {
      ends.send({.kind = WriterStatus::Kind::Lacks,
                 .error_number = written.error_number,
                 .missing = written.missing});
    }
  });
}

void write_log_files(const WriterChannel& ends) {
  LogCommands orders(ends);
  take_all(ends, [&](std::string_view bytes) { orders.feed(bytes); });
}

}  // namespace muster
