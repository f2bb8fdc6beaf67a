// Creates, rotates and writes files in a process of its own, which may wait for file systems. It gets the bytes through
// shared memory.
#include "output/writer_process.hpp"

#include "output/log_files.hpp"

#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace muster {

namespace fs = std::filesystem;

// The ring buffer. All atomics use the default order (seq_cst): each side sets its flag and then reads the other
// side's counter, which no weaker order makes safe.

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);  // a lock would exist in one process only

Result<SharedRingBuffer> SharedRingBuffer::make() {
  void* const memory = TRY(map_shared(sizeof(Shared)));
  return SharedRingBuffer(new (memory) Shared);  // its bytes stay untouched: no page is used before it is needed
}

std::size_t SharedRingBuffer::put(std::string_view bytes) {
  const std::uint64_t start = shared_->put.load();
  const std::size_t count = std::min(bytes.size(), kBytes - size());
  const std::size_t offset = start % kBytes;
  const std::size_t until_end = std::min(count, kBytes - offset);
  std::memcpy(shared_->bytes + offset, bytes.data(), until_end);
  std::memcpy(shared_->bytes, bytes.data() + until_end, count - until_end);
  shared_->put.store(start + count);
  return count;
}

std::string_view SharedRingBuffer::next() const {
  const std::size_t offset = shared_->taken.load() % kBytes;
  return {shared_->bytes + offset, std::min(size(), kBytes - offset)};
}

void SharedRingBuffer::take(std::size_t count) {
  shared_->taken.store(shared_->taken.load() + count);
}

std::uint64_t SharedRingBuffer::lines() const {
  const std::string_view first = next();
  const std::string_view second(shared_->bytes, size() - std::min(size(), first.size()));
  return static_cast<std::uint64_t>(std::count(first.begin(), first.end(), '\n') +
                                    std::count(second.begin(), second.end(), '\n'));
}

namespace {

/// Size of one write; progress is reported that often.
constexpr std::size_t kMostAtOnce = std::size_t{64} << 10U;

/// The writer process's ends of the channel.
struct WriterChannel {
  SharedRingBuffer& ring;
  int wakeup;  ///< readable when there is work; at EOF when nothing comes any more
  int status;

  void send(const WriterStatus& what) const {
    (void)write_all(status, {reinterpret_cast<const char*>(&what), sizeof what});  // NOLINT: one write
  }
};

/// Sleeps until bytes arrive. False: nothing will come any more.
bool wait_for_bytes(const WriterChannel& ends) {
  ends.ring.reader_sleeps() = true;
  if (!ends.ring.next().empty()) {  // they came before the flag was set
    ends.ring.reader_sleeps() = false;
    return true;
  }
  std::array<char, 64> wakeups{};
  ssize_t count = -1;
  do {
    count = ::read(ends.wakeup, wakeups.data(), wakeups.size());
  } while (count < 0 && errno == EINTR);
  ends.ring.reader_sleeps() = false;
  return count > 0 || !ends.ring.next().empty();
}

/// The bytes of the next write. Empty: nothing will come any more.
std::string_view next_bytes(const WriterChannel& ends) {
  while (ends.ring.next().empty() && wait_for_bytes(ends)) {
  }
  return ends.ring.next().substr(0, kMostAtOnce);
}

constexpr int kMostRotations = 100;
constexpr int kTries = 10;

/// Opens folders of log files. Those of the first file are opened before any worker runs, follow the user's links,
/// and stay open; a process that replaces a killed one has none open. Later a worker of another user may have put a
/// link in the place of a folder, so root then follows no link in a folder that others may change.
class LogFolders {
 public:
  /// Opens the folder, and makes it and those above it. Empty: errno has the reason.
  UniqueFd open(const fs::path& folder) {
    std::vector<fs::path> below;  // the innermost first
    fs::path known = folder;
    for (; !held_.contains(known) && known != known.parent_path(); known = known.parent_path()) {
      below.push_back(known);
    }
    const auto held = held_.find(known);
    UniqueFd found(held != held_.end() ? ::fcntl(held->second.get(), F_DUPFD_CLOEXEC, 0)
                                       : ::open(known.empty() ? "." : known.c_str(), kFolder));
    for (; found && !below.empty(); below.pop_back()) {
      found = open_in(found.get(), below.back().filename());
      hold(below.back(), found);
    }
    return found;
  }

  /// Ends the time of the first file: its folders are open, or a worker has run.
  void hold_no_more() { is_first_ = false; }

 private:
  static constexpr int kFolder = O_PATH | O_DIRECTORY | O_CLOEXEC;

  UniqueFd open_in(int parent, const fs::path& name) const {
    const int how = kFolder | (is_first_ || ::geteuid() != 0 || is_writable_by_alone(parent, 0) ? 0 : O_NOFOLLOW);
    const char* const shown = name.empty() ? "." : name.c_str();  // of a path that ends with a slash
    UniqueFd found(::openat(parent, shown, how));
    if (!found && errno == ENOENT && (::mkdirat(parent, shown, 0777) == 0 || errno == EEXIST)) {
      found = UniqueFd(::openat(parent, shown, how));
    }
    return found;
  }

  void hold(const fs::path& folder, const UniqueFd& found) {
    if (is_first_ && found) {
      held_[folder] = UniqueFd(::fcntl(found.get(), F_DUPFD_CLOEXEC, 0));
    }
  }

  std::map<fs::path, UniqueFd> held_;
  bool is_first_ = true;
};

/// Makes room for the file `name` in a folder: renames it to ".1" after moving ".1" to ".2", and so on. When very many
/// exist none is moved: `name` gets the next free number.
void rotate(int folder, const std::string& name) {
  const auto numbered = [&](int number) { return name + "." + std::to_string(number); };
  const auto move = [&](const std::string& from, int number) {
    (void)::renameat(folder, from.c_str(), folder, numbered(number).c_str());
  };
  struct stat unused {};
  int last = 0;
  while (::fstatat(folder, numbered(last + 1).c_str(), &unused, AT_SYMLINK_NOFOLLOW) == 0) {
    ++last;
  }
  if (last >= kMostRotations) {
    move(name, last + 1);
    return;
  }
  for (int i = last; i > 0; --i) {
    move(numbered(i), i + 1);
  }
  move(name, 1);
}

/// Creates the file and its parent directories. An existing file is kept as "<path>.1", an older ".1" as ".2", and
/// so on. Returns 0 or an errno.
int create_log_file(LogFolders& folders, const fs::path& path, UniqueFd& file) {
  const UniqueFd folder = folders.open(path.parent_path());
  if (!folder) {
    return errno;
  }
  const std::string name = path.filename().string();
  for (int i = 0; i < kTries; ++i) {  // another job may create the same file at the same time
    file = UniqueFd(::openat(folder.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644));
    if (file || errno != EEXIST) {
      return file ? 0 : errno;
    }
    rotate(folder.get(), name);
  }
  return EEXIST;
}

void send_loss(const WriterChannel& ends, std::uint32_t file, const FileLoss& loss) {
  ends.send({.kind = WriterStatus::Kind::Lacks, .file = file, .loss = loss});
}

LossyFile make_lossy_file(const WriterChannel& ends, int fd, std::uint32_t number) {
  return {[fd](std::string_view bytes) { return write_all(fd, bytes); },
          [ends, number](const FileLoss& loss) { send_loss(ends, number, loss); }};
}

/// Parses commands, which may arrive in pieces, and executes them.
class LogCommands {
 public:
  LogCommands(const WriterChannel& ends, bool has_run_workers) : ends_(ends) {
    if (has_run_workers) {
      folders_.hold_no_more();
    }
  }

  void feed(std::string_view bytes) {
    while (!bytes.empty()) {
      bytes.remove_prefix(has_ < sizeof order_ ? feed_order(bytes) : feed_content(bytes));
    }
  }

 private:
  std::size_t feed_order(std::string_view bytes) {
    const std::size_t count = std::min(bytes.size(), sizeof order_ - has_);
    std::memcpy(reinterpret_cast<char*>(&order_) + has_, bytes.data(),
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

  struct OpenFile {
    UniqueFd fd;
    LossyFile file;
  };

  void open() {
    UniqueFd file;
    const int error_number = create_log_file(folders_, path_, file);
    folders_.hold_no_more();
    path_.clear();
    if (error_number == 0) {
      const int fd = file.get();
      files_.emplace(order_.file, OpenFile{std::move(file), make_lossy_file(ends_, fd, order_.file)});
    }
    ends_.send({.kind = WriterStatus::Kind::Opened, .file = order_.file, .error_number = error_number});
  }

  void write(std::string_view bytes) {
    if (const auto open = files_.find(order_.file); open != files_.end()) {
      open->second.file.write(bytes);
    } else {
      send_loss(ends_, order_.file, {.bytes = bytes.size(), .error_number = EBADF});
    }
  }

  const WriterChannel& ends_;
  LogCommand order_;
  std::size_t has_ = 0;     ///< bytes of the command itself
  std::uint64_t left_ = 0;  ///< bytes that follow the command
  std::string path_;
  LogFolders folders_;
  std::map<std::uint32_t, OpenFile> files_;  ///< a full disk closes none
};

/// Passes all bytes to `write`, in pieces, until the agent is gone or has closed the channel.
template <typename Write>
void take_all(const WriterChannel& ends, const Write& write) {
  for (std::string_view bytes = next_bytes(ends); !bytes.empty(); bytes = next_bytes(ends)) {
    write(bytes);
    ends.ring.take(bytes.size());
    if (ends.ring.writer_waits().exchange(false)) {
      ends.send({});
    }
  }
}

void write_to_file(const WriterChannel& ends, int fd) {
  LossyFile file = make_lossy_file(ends, fd, 0);
  take_all(ends, [&](std::string_view bytes) { file.write(bytes); });
}

void write_log_files(const WriterChannel& ends, bool has_run_workers) {
  LogCommands orders(ends, has_run_workers);
  take_all(ends, [&](std::string_view bytes) { orders.feed(bytes); });
}

}  // namespace

// Starts the writer process and communicates with it.

namespace {

/// Time for a writer that does not hang to write the rest and close its files, whose content other machines may see
/// only then.
constexpr std::chrono::milliseconds kTimeToClose{200};

}  // namespace

Result<std::unique_ptr<WriterProcess>> WriterProcess::start(boost::asio::io_context& io, HelperProcesses& helpers,
                                                            std::optional<int> file, bool has_run_workers) {
  auto ring = TRY(SharedRingBuffer::make());
  auto wakeup = TRY(make_pipe());
  auto status = TRY(make_pipe());
  const WriterChannel ends{ring, wakeup.read.get(), status.write.get()};
  std::vector<int> descriptors = {ends.wakeup, ends.status};
  if (file) {
    descriptors.push_back(*file);
  }
  const auto work = [&] { file ? write_to_file(ends, *file) : write_log_files(ends, has_run_workers); };
  const pid_t pid = TRY(helpers.start(descriptors, work));
  (void)::fcntl(wakeup.write.get(), F_SETFL, O_NONBLOCK);
  (void)::fcntl(status.read.get(), F_SETFL, O_NONBLOCK);
  std::unique_ptr<WriterProcess> started(
      new WriterProcess(io, helpers, std::move(ring), std::move(wakeup.write), std::move(status.read)));
  started->pid_ = pid;
  started->listen();
  return started;
}

WriterProcess::~WriterProcess() {
  end_process(kTimeToClose);
}

ssize_t WriterProcess::write_some(std::string_view bytes) {
  const std::size_t count = failure_ == 0 ? ring_.put(bytes) : 0;
  if (count == 0) {
    errno = failure_ == 0 ? EAGAIN : failure_;
    return -1;
  }
  if (ring_.reader_sleeps().exchange(false)) {
    (void)::write(wakeup_pipe_.get(), "", 1);  // a full pipe wakes the writer as well
  }
  return static_cast<ssize_t>(count);
}

void WriterProcess::when_ready(SinkOwner& owner) {
  waiting_ = &owner;
  ring_.writer_waits() = true;
  if (has_written_all() || failure_ != 0) {  // written before the flag was set: no status would follow
    boost::asio::post(io_, scope_.wrap([this] { notify_waiting(); }));
  }
}

void WriterProcess::notify_waiting() {
  if (SinkOwner* const owner = std::exchange(waiting_, nullptr)) {
    owner->on_ready();
  }
}

void WriterProcess::listen() {
  status_pipe_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                          scope_.wrap([this](const boost::system::error_code& error) {
                            if (!error && take_statuses()) {
                              listen();
                            }
                          }));
}

/// Reads all pending status messages. False: no more will come.
bool WriterProcess::take_statuses() {
  WriterStatus status;
  ssize_t size = -1;
  while (status_pipe_.is_open() &&
         (size = ::read(status_pipe_.native_handle(), &status, sizeof status)) == sizeof status) {
    take(status);
  }
  if (status_pipe_.is_open() && size == 0) {
    failure_ = failure_ != 0 ? failure_ : ESRCH;  // the writer process was killed
    notify_waiting();
  }
  return status_pipe_.is_open() && size != 0;  // otherwise a callback has closed it
}

void WriterProcess::take(const WriterStatus& status) {
  if (status.kind == WriterStatus::Kind::Progress) {
    notify_waiting();
  } else if (on_status) {
    on_status(status);
  } else if (losses_to_ != nullptr) {
    losses_to_->on_loss(status.loss);
  }
}

/// Closes the writer's wake-up pipe, at which it exits by itself; kills it when that takes too long.
void WriterProcess::end_process(std::chrono::milliseconds timeout) {
  if (!status_pipe_.is_open()) {
    return;
  }
  wakeup_pipe_.reset();
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  WriterStatus status;
  ssize_t size = -1;
  while (size != 0 && timeout.count() > 0) {
    pollfd end{status_pipe_.native_handle(), POLLIN, 0};
    (void)::poll(&end, 1, static_cast<int>(timeout.count()));
    size = ::read(status_pipe_.native_handle(), &status, sizeof status);
    timeout = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  }
  helpers_.end(pid_);
  boost::system::error_code ignored;  // this end is only read; closing loses nothing
  status_pipe_.close(ignored);
}

std::uint64_t WriterProcess::give_up() {
  const std::uint64_t lines = ring_.lines();
  waiting_ = nullptr;
  failure_ = ETIMEDOUT;
  end_process({});
  return lines;
}

}  // namespace muster
