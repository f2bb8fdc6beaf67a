#pragma once

// The rights of processes. A worker may have dropped to another user than muster's: no program that it has named runs
// with more rights than it has, and no file is opened for it that it could not open itself.

#include "base/result.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// The rights of a process as /proc/PID/status shows them.
struct Rights {
  /// Positions in `users` and `groups`, as in /proc/PID/status.
  enum Kind : std::uint8_t {
    Real,
    Effective,
    Saved,
    ForFiles
  };
  std::array<uid_t, 4> users{};
  std::array<gid_t, 4> groups{};
  std::vector<gid_t> more_groups{};  ///< sorted
  std::uint64_t capabilities = 0;    ///< the permitted ones, a bit each: it can make them effective
  bool gains_none = false;           ///< no_new_privs: programs that it starts gain nothing
  std::string filters{};             ///< number of filters of its system calls, and their kind
  bool operator==(const Rights&) const = default;
};

/// Reads the fields of /proc/PID/status. Fails with `BadData` if one is missing or is no number.
[[nodiscard]] Result<Rights> parse_rights(const std::map<std::string, std::string>& status);

/// Fails if /proc does not show the process.
[[nodiscard]] Result<Rights> rights_of(pid_t process);

/// The rights with which we may run a program that another process has named: no more than it has. Empty: ours,
/// because it has each of them. Fails if we cannot take the rights of the other.
[[nodiscard]] Result<std::optional<Rights>> rights_for_program(const Rights& own, const Rights& others);

/// Takes these rights for good. To be called in a child before it executes a program; false: it must not do so.
bool take_rights(const Rights& rights);

/// Opens files as another process would, by its user and groups, until it is destroyed. Other rights stay, such as
/// that to look into processes. For a helper process.
class ScopedFileRights {
 public:
  ScopedFileRights(const Rights& own, const Rights& others);
  ScopedFileRights(const ScopedFileRights&) = delete;
  ScopedFileRights& operator=(const ScopedFileRights&) = delete;
  ~ScopedFileRights();

  /// False: the rights could not be taken; then open no file on behalf of the other process.
  bool are_taken() const { return are_taken_; }

 private:
  const Rights& own_;
  bool differ_;
  bool are_taken_;
};

/// Reads by a function which opens files that the process has named, with no more rights than it has. For a helper
/// process.
template <typename Read>
auto read_as(pid_t process, Read read) -> decltype(read(process)) {
  const Rights own = TRY(rights_of(::getpid()));
  const Rights others = TRY(rights_of(process));
  const ScopedFileRights rights(own, others);
  if (!rights.are_taken()) {
    return Error{ErrorKind::System, "its rights differ from muster's"};
  }
  return read(process);
}

/// True if its capabilities mean what ours do (user_namespaces(7)).
bool is_in_our_user_namespace(pid_t process);

/// The root and the namespaces of a process: what its paths mean, and what it can reach. Empty: not readable.
std::string container_of(pid_t process);

}  // namespace muster
