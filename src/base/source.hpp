#pragma once

#include "base/result.hpp"
#include "base/text.hpp"
#include "base/visible.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace muster {

/// What a value was read from. Decisions go by this kind; the name is for people.
enum class SourceKind {
  Flag,      ///< on the command line, such as --nnodes
  Option,    ///< the variable of an option: MUSTER_NNODES
  Variable,  ///< a platform's or another launcher's: WORLD_SIZE, PET_NNODES
  File,      ///< a file, such as /etc/volcano/worker.host, or what the system shows
  Default,   ///< nobody said anything: ours, or the platform's own
  Assumed    ///< learnt at start, and only assumed until then
};

/// Where a value comes from: the kind, and the bare name of the flag, variable or file.
struct Source {
  SourceKind kind = SourceKind::Default;
  std::string name = "default";

  bool operator==(const Source&) const = default;
};

/// A value and what it was read from.
template <typename T>
struct Sourced {
  T value{};
  Source source;

  bool operator==(const Sourced&) const = default;
};

/// The number as text, for messages.
[[nodiscard]] inline Sourced<std::string> as_text(const Sourced<int>& number) {
  return {std::to_string(number.value), number.source};
}

[[nodiscard]] inline Source from_flag(std::string name) {
  return {SourceKind::Flag, std::move(name)};
}
[[nodiscard]] inline Source from_option(std::string variable) {
  return {SourceKind::Option, std::move(variable)};
}
[[nodiscard]] inline Source from_variable(std::string name) {
  return {SourceKind::Variable, std::move(name)};
}
/// "default of hai": somebody's own, where nobody said anything.
[[nodiscard]] inline Source default_of(std::string_view whose) {
  return {SourceKind::Default, "default of " + std::string(whose)};
}

/// True for what the user says to muster, as a flag or as the variable of an option.
[[nodiscard]] inline bool is_given(const Source& source) {
  return source.kind == SourceKind::Flag || source.kind == SourceKind::Option;
}

/// A part of it: "--set role_name", "TF_CONFIG task.index".
[[nodiscard]] inline Source part_of(const Source& whole, std::string_view part) {
  return {whole.kind, whole.name + std::string(part)};
}

/// The kind of error that a wrong value is: the command line's or the environment's fault.
[[nodiscard]] inline ErrorKind blame(const Source& source) {
  return source.kind == SourceKind::Flag ? ErrorKind::BadUsage : ErrorKind::BadEnvironment;
}

/// "<source> is '<value>', expected <what>": how every wrong value is reported.
[[nodiscard]] inline Error wrong_value(const Sourced<std::string>& wrong,
                                       std::string_view expected) {
  return Error{blame(wrong.source),
               wrong.source.name + " is '" + masked("", with_visible_blanks(wrong.value)) +
                   "', expected " + std::string(expected)};
}

}  // namespace muster
