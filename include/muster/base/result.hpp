#pragma once

#include <boost/system/result.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace muster {

/// What a caller may do about a failure. The value is the exit code that the program ends with if
/// nobody can do anything (the table is in docs/interfaces.md).
enum class ErrorKind {
  BadUsage = 64,        ///< The command line is wrong. Retrying cannot help.
  BadData = 65,         ///< A file that describes the job is wrong. Retrying cannot help.
  System = 71,          ///< The kernel refused a call.
  Incomplete = 75,      ///< Somebody who is needed has not come. Retrying may help.
  BadEnvironment = 78,  ///< A variable is wrong, or two contradict each other.
  NotExecutable = 126,  ///< The program exists and cannot be run.
  NotFound = 127,       ///< The program does not exist.
};

/// A failure that the program expects and handles. `message` is one sentence for the user: what
/// was attempted, the offending value in quotes, what was expected; no capital and no full stop.
struct Error {
  ErrorKind kind = ErrorKind::System;
  std::string message;

  [[nodiscard]] int exit_code() const { return static_cast<int>(kind); }
};

/// Either a value or an `Error`. Calling `.value()` on a failure is a bug and throws
/// `std::logic_error`.
template <typename T = void>
using Result = boost::system::result<T, Error>;

/// Required by boost::system::result for `.value()` on a failure.
[[noreturn]] void throw_exception_from_error(const Error& error,
                                             const boost::source_location& location);

/// An `Error` of kind System: "<attempt>: <text of errno>".
[[nodiscard]] Error system_error(std::string_view attempt, int error_number);

}  // namespace muster
