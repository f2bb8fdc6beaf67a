// Checks where the report goes, before anything is started and by the same steps that will write it; and writes the
// report and the error file.
#include "base/file_io.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "output/line_framer.hpp"
#include "process/inherited.hpp"
#include "report/report.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>

namespace muster {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kTimeout{2};  // to write to a pipe, which may be full

constexpr int kWriteOnly = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

/// The kind of file at the user's path, which decides how the report is written.
struct Target {
  enum class Kind {
    File,    ///< a regular file, or no file yet: the report goes to a temporary file, which is renamed
    Device,  ///< another named file: a named pipe, /dev/null
    Stream,  ///< a descriptor of ours, such as /dev/stdout: its earlier content stays
    None     ///< not writable
  };
  Kind kind = Kind::File;
  std::string path;  ///< with links resolved, for a file
  int stream = -1;
  int error_number = 0;  ///< for `None`: the reason
};

Target find_target(const std::string& path) {
  using Kind = Target::Kind;
  if (const auto stream = stream_of(path)) {
    return {Kind::Stream, path, *stream, 0};
  }
  std::error_code unknown;  // a path without a status is one to create
  const fs::file_status status = fs::status(path, unknown);
  if (fs::is_directory(status)) {
    return {Kind::None, path, -1, EISDIR};
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return {Kind::Device, path, -1, 0};
  }
  std::error_code failed;
  const std::string end = follow_links(path, failed).string();
  return {failed ? Kind::None : Kind::File, end, -1, failed.value()};
}

/// A file that is still being written.
struct TemporaryFile {
  std::string path;
  UniqueFd file;  ///< empty: errno has the reason
};

/// Opens a file with a random name beside the target: in a directory that others can write, such as /tmp, a link to
/// one of our files could wait under a predictable name.
TemporaryFile open_beside(const Target& target) {
  TemporaryFile beside{target.path + ".tmpXXXXXX", UniqueFd()};
  beside.file = UniqueFd(::mkostemp(beside.path.data(), O_CLOEXEC));
  return beside;
}

// --- Before the start: why the target cannot be written, as errno; 0: it can ------------------------

/// Detects /dev/full, the only device that fails a write of zero bytes.
int try_to_write_nothing(int fd) {
  struct stat status {};
  const bool is_device = ::fstat(fd, &status) == 0 && S_ISCHR(status.st_mode);
  return !is_device || ::write(fd, "", 0) == 0 ? 0 : errno;
}

int obstacle_of_stream(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  const bool is_standard = fd >= 0 && fd <= STDERR_FILENO;
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || (is_standard && was_closed(fd))) {
    return EBADF;
  }
  return try_to_write_nothing(fd);
}

/// Checks a device. A named pipe may get its reader later.
int obstacle_of_device(const std::string& path) {
  std::error_code unknown;
  if (fs::is_fifo(path, unknown)) {
    return ::access(path.c_str(), W_OK) == 0 ? 0 : errno;  // old seccomp filters refuse the call of faccessat(3)
  }
  const UniqueFd device(::open(path.c_str(), kWriteOnly));
  return device ? try_to_write_nothing(device.get()) : errno;
}

/// Checks a file, and removes an older report, which must not be taken for this run's.
int obstacle_of_file(const Target& target) {
  const TemporaryFile beside = open_beside(target);
  if (!beside.file) {
    return errno;
  }
  (void)::unlink(beside.path.c_str());
  return ::unlink(target.path.c_str()) == 0 || errno == ENOENT ? 0 : errno;
}

int obstacle(const Target& target) {
  switch (target.kind) {
    case Target::Kind::Stream:
      return obstacle_of_stream(target.stream);
    case Target::Kind::Device:
      return obstacle_of_device(target.path);
    case Target::Kind::File:
      return obstacle_of_file(target);
    case Target::Kind::None:
      break;
  }
  return target.error_number;
}

// --- At the end of the job: functions that write the text; each returns 0 or an errno -------------------------------------

/// A terminal or a pipe is opened again to write without blocking, because the flags of the descriptor are shared. A
/// stream that cannot be opened, such as a socket, gets small writes, each after poll(2) allows it.
int write_to_stream(int fd, std::string_view text) {
  constexpr std::size_t kCautiousBytes = 4096;
  struct stat status {};
  const bool can_wait = ::fstat(fd, &status) == 0 && !S_ISREG(status.st_mode);
  const std::string name = "/proc/self/fd/" + std::to_string(fd);
  const UniqueFd own(can_wait ? ::open(name.c_str(), kWriteOnly) : -1);
  if (own) {
    return write_all(own.get(), text, kTimeout).error_number;
  }
  while (!text.empty()) {
    pollfd ready{fd, POLLOUT, 0};
    if (::poll(&ready, 1, static_cast<int>(std::chrono::milliseconds(kTimeout).count())) == 0) {
      return EAGAIN;
    }
    const std::size_t count = std::min(text.size(), kCautiousBytes);
    if (const int error_number = write_all(fd, text.substr(0, count)).error_number) {
      return error_number;
    }
    text.remove_prefix(count);
  }
  return 0;
}

int write_to_device(const std::string& path, std::string_view text) {
  const UniqueFd device(::open(path.c_str(), kWriteOnly));
  return device ? write_all(device.get(), text, kTimeout).error_number : errno;
}

/// Replaces the file by rename: a reader sees the old content or the new one, never a part.
int write_to_file(const Target& target, std::string_view text) {
  const TemporaryFile beside = open_beside(target);
  if (!beside.file) {
    return errno;
  }
  // Sets the default permissions of a new file. A file system without permissions may refuse.
  const mode_t mask = ::umask(0);  // umask(2) is the only way to read it
  (void)::umask(mask);
  (void)::fchmod(beside.file.get(), 0644 & ~mask);
  int error_number = write_all(beside.file.get(), text).error_number;
  if (error_number == 0 && ::rename(beside.path.c_str(), target.path.c_str()) != 0) {
    error_number = errno;
  }
  if (error_number != 0) {
    (void)::unlink(beside.path.c_str());
  }
  return error_number;
}

int write_to(const Target& target, std::string_view text) {
  switch (target.kind) {
    case Target::Kind::Stream:
      return write_to_stream(target.stream, text);
    case Target::Kind::Device:
      return write_to_device(target.path, text);
    case Target::Kind::File:
      return write_to_file(target, text);
    case Target::Kind::None:
      break;
  }
  return target.error_number;
}

Result<> write_document(const std::string& what, const std::string& path, const json::value& document) {
  const int error_number = write_to(find_target(path), pretty_json(document));
  return error_number == 0 ? Result<>() : system_error("cannot write the " + what + " '" + path + "'", error_number);
}

}  // namespace

/// Resolves /dev/stdout, /dev/fd/3 and /proc/self/fd/3 to the descriptor, so that they are not treated as files of
/// that name.
std::optional<int> stream_of(const std::string& name) {
  fs::path path = name;
  constexpr int kMostLinks = 40;
  std::error_code failed;
  const fs::path own = fs::canonical("/proc/self/fd", failed);
  for (int links = 0; !failed && links < kMostLinks; ++links) {
    const auto fd = parse_integer(path.filename().string(), 0, std::numeric_limits<int>::max());
    std::error_code no_folder;
    if (fd && fs::canonical(path.parent_path(), no_folder) == own) {
      return fd;
    }
    const fs::path target = fs::read_symlink(path, failed);
    path = path.parent_path() / target;
  }
  return std::nullopt;
}

Result<> prepare_report(const Sourced<std::string>& file) {
  const int error_number = obstacle(find_target(file.value));
  return error_number == 0
             ? Result<>()
             : wrong_value(file, "a file that can be written: " + std::generic_category().message(error_number));
}

Result<> write_report(const Outcome& outcome, const std::string& path) {
  return write_document("report", path, to_document(outcome));
}

Result<> write_report(const std::string& document, const std::string& path) {
  return write_document("report", path, json::parse(document));
}

Result<> write_error_file(const Outcome& outcome, const std::string& path) {
  const auto& failure = outcome.end.first_failure;
  if (!failure) {
    return {};
  }
  const auto signal = failure->status ? failure->status->signal() : std::nullopt;
  const int code = signal ? -*signal : failure->exit_code;  // as in Python's subprocess: -N for signal N
  const std::string own = outcome.error_file.empty()
                              ? ""
                              : pass_on_error_file(read_untrusted_file(outcome.error_file, kMostErrorFileBytes), code);
  if (!own.empty()) {
    return write_document("error file", path, json::parse(own));
  }
  json::object more{{"py_callstack", join(failure->last_lines, "\n")},
                    {"timestamp", std::to_string(std::time(nullptr))}};
  if (!outcome.hang.empty()) {
    more["hang"] = json::parse(outcome.hang);
  }
  const std::string text =
      describe_failure(*failure) + (failure->error_message.empty() ? "" : ": " + failure->error_message);
  const json::object message{{"message", text}, {"errorCode", code}, {"extraInfo", more}};
  return write_document("error file", path, json::object{{"message", message}});
}

}  // namespace muster
