#pragma once

// Defines Result, Error, and the sources of values with the errors about them.

#include "base/display_text.hpp"
#include "base/secrets.hpp"
#include "base/text.hpp"

#include <boost/system/result.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace muster {

/// Kinds of failure, by what a caller can do about them. Each value is the program's exit code if nobody handles the
/// error (the table is in docs/interfaces.md).
enum class ErrorKind {
  BadUsage = 64,        ///< The command line is wrong. Retrying cannot help.
  BadData = 65,         ///< A file that describes the job is wrong. Retrying cannot help.
  System = 71,          ///< The kernel refused a call.
  Incomplete = 75,      ///< A participant that is needed has not come. Retrying may help.
  BadEnvironment = 78,  ///< A variable is wrong, or two contradict each other.
  NotExecutable = 126,  ///< The program exists and cannot be run.
  NotFound = 127,       ///< The program does not exist.
};

/// A failure that the program expects and handles. `message` is one sentence for the user: what
/// was attempted, the offending value in quotes, what was expected; no capital and no full stop.
struct Error {
  ErrorKind kind = ErrorKind::System;
  std::string message;

  int exit_code() const { return static_cast<int>(kind); }
};

/// Either a value or an `Error`. Calling `.value()` on a failure is a bug and throws
/// `std::logic_error`.
template <typename T = void>
using Result = boost::system::result<T, Error>;

/// Takes the value of a Result; if there is none, the enclosing function returns the error. A statement expression of
/// GCC and clang, because C++ has no operator for this.
#ifndef __clang_analyzer__
#define TRY(...) MUSTER_TRY_AS(MUSTER_JOIN(try_result_, __COUNTER__), __VA_ARGS__)
#else  // clang-tidy would count the branch of each use
#define TRY(...) (*(__VA_ARGS__))
#endif
#define MUSTER_TRY_AS(NAME, ...) \
  __extension__({                \
    auto NAME = (__VA_ARGS__);   \
    if (!NAME) {                 \
      return NAME.error();       \
    }                            \
    *std::move(NAME);            \
  })
#define MUSTER_JOIN(LEFT, RIGHT) MUSTER_JOIN_EXPANDED(LEFT, RIGHT)
#define MUSTER_JOIN_EXPANDED(LEFT, RIGHT) LEFT##RIGHT

/// Required by boost::system::result for `.value()` on a failure.
[[noreturn]] inline void throw_exception_from_error(const Error& error, const boost::source_location& location) {
  throw std::logic_error(std::string(location.file_name()) + ": unchecked error: " + error.message);
}

/// An `Error` of kind System: "<attempt>: <text of errno>".
inline Error system_error(std::string_view attempt, int error_number) {
  return Error{ErrorKind::System, std::string(attempt) + ": " + std::generic_category().message(error_number)};
}

/// Kinds of places where a value was read. Decisions go by this kind; the name is for people.
enum class SourceKind {
  Flag,      ///< on the command line, such as --nnodes
  Option,    ///< the variable of an option: MUSTER_NNODES
  Variable,  ///< a platform's or another launcher's variable: WORLD_SIZE, PET_NNODES
  File,      ///< a file, such as /etc/volcano/worker.host, or facts read from the system
  Default,   ///< not set anywhere: muster's default or the platform's
  Assumed    ///< an assumption until the start, when the value becomes known
};

/// Origin of a value: its kind, and the bare name of the flag, variable or file.
struct Source {
  SourceKind kind = SourceKind::Default;
  std::string name = "default";

  bool operator==(const Source&) const = default;
};

/// A value and its origin.
template <typename T>
struct Sourced {
  T value{};
  Source source;

  bool operator==(const Sourced&) const = default;
};

/// The number as text, for messages.
inline Sourced<std::string> as_text(const Sourced<int>& number) {
  return {std::to_string(number.value), number.source};
}

inline Source from_flag(std::string name) {
  return {SourceKind::Flag, std::move(name)};
}
inline Source from_option(std::string variable) {
  return {SourceKind::Option, std::move(variable)};
}
inline Source from_variable(std::string name) {
  return {SourceKind::Variable, std::move(name)};
}
/// The source of a platform's default, such as "default of hai", if nothing was set.
inline Source default_of(std::string_view whose) {
  return {SourceKind::Default, "default of " + std::string(whose)};
}

/// True if the user set the option, by a flag or by its variable.
inline bool is_given(const Source& source) {
  return source.kind == SourceKind::Flag || source.kind == SourceKind::Option;
}

/// True for a value that a flag or a variable states, not for one that was only counted.
inline bool is_stated(const Source& source) {
  return is_given(source) || source.kind == SourceKind::Variable;
}

/// A part of a source: "--set role_name", "TF_CONFIG task.index".
inline Source part_of(const Source& whole, std::string_view part) {
  return {whole.kind, whole.name + std::string(part)};
}

/// Error kind for a wrong value from this source: the command line or the environment is wrong.
inline ErrorKind error_kind(const Source& source) {
  return source.kind == SourceKind::Flag ? ErrorKind::BadUsage : ErrorKind::BadEnvironment;
}

/// Error for any wrong value: "<source> is '<value>', expected <what>". Adds the likely cause, unless `expected`
/// names it or is about such texts itself.
inline Error wrong_value(const Sourced<std::string>& wrong, std::string_view expected) {
  const std::string unfilled = describe_wholly_unfilled(wrong.value);
  const bool is_known = expected.find_first_of("${<") != std::string_view::npos || expected.ends_with(unfilled);
  return Error{error_kind(wrong.source), wrong.source.name + " is '" + masked("", with_visible_blanks(wrong.value)) +
                                             "', expected " + std::string(expected) + (is_known ? "" : unfilled) +
                                             describe_lookalike(wrong.value, wrong.source.kind == SourceKind::Flag)};
}

}  // namespace muster
