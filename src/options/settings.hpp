#pragma once

// Strict readers of single options. Each leaves its target as it is when the option is not given,
// and fails by naming the source, the value and what was expected.

#include "base/result.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// The settings that hold parameters of the mode begin with this: --set role_name=x is "set:role_name".
inline constexpr const char* kParameterPrefix = "set:";

/// What the user asked for: options from the command line, then MUSTER_* variables. The key is the
/// long name without dashes in front, such as "nproc-per-node".
class Settings {
 public:
  void set(const std::string& name, Sourced<std::string> value) { values_.insert_or_assign(name, std::move(value)); }
  [[nodiscard]] std::optional<Sourced<std::string>> find(std::string_view name) const {
    const auto at = values_.find(name);
    return at == values_.end() ? std::nullopt : std::optional(at->second);
  }
  /// Those whose names begin with `start`, by name.
  [[nodiscard]] std::map<std::string, Sourced<std::string>> starting_with(std::string_view start) const {
    std::map<std::string, Sourced<std::string>> found;
    for (auto at = values_.lower_bound(start); at != values_.end() && std::string_view(at->first).starts_with(start);
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

/// True when a switch is on: given as a flag, or as MUSTER_<NAME>=1.
[[nodiscard]] bool is_on(const Settings& settings, std::string_view name);

/// Which durations an option takes.
struct DurationRange {
  double least = 0;
  double most = 0;               ///< 0: no bound of its own
  bool is_least_allowed = true;  ///< false: more than `least`
};

[[nodiscard]] Result<> read_duration(std::chrono::milliseconds& target, const Settings& settings, std::string_view name,
                                     const DurationRange& range = {});
[[nodiscard]] Result<> read_duration(std::optional<std::chrono::milliseconds>& target, const Settings& settings,
                                     std::string_view name, const DurationRange& range = {});

/// A name that is not empty; whether there is such a file is seen when it is used.
[[nodiscard]] Result<> read_file_name(std::string& target, const Settings& settings, std::string_view name);

}  // namespace muster
