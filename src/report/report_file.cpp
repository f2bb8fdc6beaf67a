// Where the report goes. What can be known of it is found out before anything is started, by doing what the
// writer will do.
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

constexpr std::chrono::seconds kPatience{2};  // with a pipe that nobody reads

constexpr int kWriteOnly = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

/// What stands under the name that the user gave.
struct Target {
  enum class Kind {
    File,    ///< a plain file, or none yet: written beside its place and renamed
    Device,  ///< something else that has a name: a named pipe, /dev/null
    Stream,  ///< a descriptor of ours, such as /dev/stdout: what it has already stays
    None     ///< nothing that can be written
  };
  Kind kind = Kind::File;
  std::string path;  ///< of a file where links lead
  int stream = -1;
  int error_number = 0;  ///< why it is none
};

Target find_target(const std::string& path) {
  using Kind = Target::Kind;
  if (const auto stream = stream_of(path)) {
    return {Kind::Stream, path, *stream, 0};
  }
  std::error_code unknown;  // a path that cannot be looked at is one to be made
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

/// Where a file is written before it is complete.
struct TemporaryFile {
  std::string path;
  UniqueFd file;  ///< empty: errno says why
};

/// Under a name that nobody can foresee: in a folder where others may write, such as /tmp, a link to a file of ours
/// could wait under any other.
TemporaryFile open_beside(const Target& target) {
  TemporaryFile beside{target.path + ".tmpXXXXXX", UniqueFd()};
  beside.file = UniqueFd(::mkostemp(beside.path.data(), O_CLOEXEC));
  return beside;
}

/// Those of any new file. A file system that knows none may refuse.
void set_usual_permissions(int file) {
  const mode_t mask = ::umask(0);  // can be asked for in no other way
  (void)::umask(mask);
  (void)::fchmod(file, 0644 & ~mask);
}

// --- Before the start: why nothing can be written there, as errno; 0: it can ----------------------

/// /dev/full says so to a write of nothing, too, of which no other device takes notice.
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

/// A named pipe may get its reader later.
int obstacle_of_device(const std::string& path) {
  std::error_code unknown;
  if (fs::is_fifo(path, unknown)) {
    return ::access(path.c_str(), W_OK) == 0 ? 0 : errno;  // faccessat makes a call that old filters refuse
  }
  const UniqueFd device(::open(path.c_str(), kWriteOnly));
  return device ? try_to_write_nothing(device.get()) : errno;
}

/// An older report goes: it must not be taken for this run's.
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

// --- At the end: 0 when all of it was written, else why not ---------------------------------------

/// A terminal and a pipe can be opened once more, without blocking: their flags are shared with others.
/// What cannot, such as a socket, is given no more at once than it has said to take.
int write_to_stream(int fd, std::string_view text) {
  constexpr std::size_t kCautiousBytes = 4096;
  struct stat status {};
  const bool can_wait = ::fstat(fd, &status) == 0 && !S_ISREG(status.st_mode);
  const std::string name = "/proc/self/fd/" + std::to_string(fd);
  const UniqueFd own(can_wait ? ::open(name.c_str(), kWriteOnly) : -1);
  if (own) {
    return write_all(own.get(), text, kPatience).error_number;
  }
  while (!text.empty()) {
    pollfd ready{fd, POLLOUT, 0};
    if (::poll(&ready, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) == 0) {
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
  return device ? write_all(device.get(), text, kPatience).error_number : errno;
}

/// A reader sees the old file or the new one, never half of it.
int write_to_file(const Target& target, std::string_view text) {
  const TemporaryFile beside = open_beside(target);
  if (!beside.file) {
    return errno;
  }
  set_usual_permissions(beside.file.get());
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

/// What went wrong, with the error's own words if there are any.
std::string message_of(const Failure& failure) {
  const std::string what = describe_failure(failure);
  return failure.error_message.empty() ? what : what + ": " + failure.error_message;
}

/// As Python's subprocess has it: -N for signal N.
int python_code(const Failure& failure) {
  const auto signal = failure.status ? failure.status->signal() : std::nullopt;
  return signal ? -*signal : failure.exit_code;
}

}  // namespace

/// /dev/stdout, /dev/fd/3 and /proc/self/fd/3 lead to what is open there, which must not be taken for a file of that
/// name.
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
  const int code = python_code(*failure);
  const std::string own = outcome.error_file.empty()
                              ? ""
                              : pass_on_error_file(read_untrusted_file(outcome.error_file, kMostErrorFileBytes), code);
  if (!own.empty()) {
    return write_document("error file", path, json::parse(own));
  }
  const json::object more{{"py_callstack", join(failure->last_lines, "\n")},
                          {"timestamp", std::to_string(std::time(nullptr))}};
  const json::object message{{"message", message_of(*failure)}, {"errorCode", code}, {"extraInfo", more}};
  return write_document("error file", path, json::object{{"message", message}});
}

}  // namespace muster
