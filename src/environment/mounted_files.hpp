#pragma once

// Reads small files of /proc and /sys, and lists the directories that have them.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

/// The names of the entries of a directory; a missing directory has none.
std::vector<std::string> entries_of(const std::string& folder);

/// The number in a name "<prefix><number>"; empty for other names.
std::optional<int> number_behind(std::string_view prefix, std::string_view name);

/// The numbers of the entries "<prefix><number>", sorted: "nvidia0" is one, "nvidiactl" is none.
std::vector<int> numbered_entries(const std::string& folder, std::string_view prefix);

/// The first line without blanks at its ends; empty when the file cannot be read.
std::string first_line(const std::string& path);

/// Reads lines "name value" with whole numbers, as the KFD writes its properties.
std::map<std::string, unsigned long long> read_properties(const std::string& path);

/// Reads lines "Name: value", as /proc writes them, without blanks around both.
std::map<std::string, std::string> read_fields(const std::string& path);

/// A value that is read on first use: few jobs need it, and reading would slow down each start.
template <typename T>
class Lazy {
 public:
  Lazy() = default;
  explicit Lazy(T (*read)()) : read_(read) {}
  Lazy& operator=(T value) {
    value_ = std::move(value);
    read_ = nullptr;
    return *this;
  }

  const T& get() const {
    if (read_ != nullptr) {
      value_ = read_();
      read_ = nullptr;
    }
    return value_;
  }

 private:
  mutable T (*read_)() = nullptr;  ///< null: the value is here
  mutable T value_;
};

}  // namespace muster
