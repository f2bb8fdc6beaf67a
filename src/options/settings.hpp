#pragma once

// Holds the options of a job, and reads single ones strictly: a reader leaves its target unchanged when the option is
// not given, and fails by naming the source, the value and the expectation.

#include "base/result.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// Prefix of the settings with parameters of the mode: --set role_name=x is "set:role_name".
inline constexpr const char* kParameterPrefix = "set:";

/// The user's options: from the command line, then from MUSTER_* variables. Keys are long names without leading
/// dashes, such as "nproc-per-node".
class Settings {
 public:
  void set(const std::string& name, Sourced<std::string> value) { values_.insert_or_assign(name, std::move(value)); }
  std::optional<Sourced<std::string>> find(std::string_view name) const {
    const auto at = values_.find(name);
    return at == values_.end() ? std::nullopt : std::optional(at->second);
  }
  /// The settings whose names begin with `start`, by name.
  std::map<std::string, Sourced<std::string>> starting_with(std::string_view start) const {
    std::map<std::string, Sourced<std::string>> found;
    for (auto at = values_.lower_bound(start); at != values_.end() && std::string_view(at->first).starts_with(start);
         ++at) {
      found.insert(*at);
    }
    return found;
  }
  bool has(std::string_view name) const { return find(name).has_value(); }
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

/// True when a switch is on: given as a flag, or as MUSTER_<NAME>=1.
bool is_on(const Settings& settings, std::string_view name);

}  // namespace muster
