#pragma once

#include <muster/base/result.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// A value and the bare name of the variable, flag or file that it came from.
template <typename T>
struct Sourced {
  T value{};
  std::string source;
};

/// True for "--nnodes", false for "MUSTER_NNODES", "WORLD_SIZE" and "default".
[[nodiscard]] inline bool is_flag(std::string_view source) {
  return source.starts_with("--");
}

/// The kind of error that a wrong value is: the command line's or the environment's fault.
[[nodiscard]] inline ErrorKind blame(std::string_view source) {
  return is_flag(source) ? ErrorKind::BadUsage : ErrorKind::BadEnvironment;
}

/// "<source> is '<value>', expected <what>": how every wrong value is reported.
[[nodiscard]] inline Error wrong_value(const Sourced<std::string>& wrong,
                                       std::string_view expected) {
  return Error{blame(wrong.source),
               wrong.source + " is '" + wrong.value + "', expected " + std::string(expected)};
}

/// The settings that hold parameters of the mode begin with this: --set role_name=x is "set:role_name".
inline constexpr const char* kParameterPrefix = "set:";

/// What the user asked for: options from the command line, then MUSTER_* variables. The key is the
/// long name without dashes in front, such as "nproc-per-node".
class Settings {
 public:
  void set(const std::string& name, Sourced<std::string> value) {
    values_.insert_or_assign(name, std::move(value));
  }
  [[nodiscard]] std::optional<Sourced<std::string>> find(std::string_view name) const {
    const auto at = values_.find(name);
    return at == values_.end() ? std::nullopt : std::optional(at->second);
  }
  /// Those whose names begin with `start`, by name.
  [[nodiscard]] std::map<std::string, Sourced<std::string>> starting_with(
      std::string_view start) const {
    std::map<std::string, Sourced<std::string>> found;
    for (auto at = values_.lower_bound(start);
         at != values_.end() && std::string_view(at->first).starts_with(start);
         ++at) {
      found.insert(*at);
    }
    return found;
  }
  [[nodiscard]] bool has(std::string_view name) const { return find(name).has_value(); }
  /// Calls `visit` with each name and its value, in the order of the names.
  template <typename Visitor>
  void for_each(const Visitor& visit) const {
    for (const auto& [name, value] : values_) {
      visit(name, value);
    }
  }

 private:
  std::map<std::string, Sourced<std::string>, std::less<>> values_;
};

}  // namespace muster
