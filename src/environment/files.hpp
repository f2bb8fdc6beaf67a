#pragma once

// Small files of /proc and /sys, and the folders that hold them. Private to environment/.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Calls `visit` with the name of each entry of a folder; a missing folder has none.
void for_each_entry(const std::string& folder, const std::function<void(std::string_view)>& visit);

/// The number in a name "<prefix><number>".
[[nodiscard]] std::optional<int> number_behind(std::string_view prefix, std::string_view name);

/// The numbers of the entries "<prefix><number>", sorted: "nvidia0" is one, "nvidiactl" is none.
[[nodiscard]] std::vector<int> numbered_entries(const std::string& folder, std::string_view prefix);

/// The first line without blanks at its ends; empty when the file cannot be read.
[[nodiscard]] std::string first_line(const std::string& path);

/// Lines "name value" with whole numbers, as the KFD writes its properties.
[[nodiscard]] std::map<std::string, unsigned long long> read_properties(const std::string& path);

/// Lines "Name: value", as /proc writes them, without blanks around both.
[[nodiscard]] std::map<std::string, std::string> read_fields(const std::string& path);

}  // namespace muster
