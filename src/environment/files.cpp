// Reads small files of /proc and /sys. What is not there is empty: each reader knows what that means.
#include "environment/files.hpp"

#include "base/text.hpp"

#include <dirent.h>

#include <algorithm>
#include <fstream>
#include <memory>

namespace muster {

void for_each_entry(const std::string& folder, const std::function<void(std::string_view)>& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(folder.c_str()), &::closedir);
  while (directory) {
    const dirent* const entry = ::readdir(directory.get());  // NOLINT(concurrency-mt-unsafe)
    if (entry == nullptr) {
      return;
    }
    visit(entry->d_name);
  }
}

std::optional<int> number_behind(std::string_view prefix, std::string_view name) {
  return name.starts_with(prefix) ? parse_integer(name.substr(prefix.size()), 0, 1'000'000)
                                  : std::nullopt;
}

std::vector<int> numbered_entries(const std::string& folder, std::string_view prefix) {
  std::vector<int> numbers;
  for_each_entry(folder, [&](std::string_view name) {
    if (const auto number = number_behind(prefix, name)) {
      numbers.push_back(*number);
    }
  });
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return std::string(trim(line));
}

std::map<std::string, unsigned long long> read_properties(const std::string& path) {
  std::map<std::string, unsigned long long> properties;
  std::ifstream file(path);
  std::string name;
  for (unsigned long long value = 0; file >> name >> value;) {
    properties[name] = value;
  }
  return properties;
}

std::map<std::string, std::string> read_fields(const std::string& path) {
  std::map<std::string, std::string> fields;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos) {
      fields.emplace(trim(line.substr(0, colon)), trim(line.substr(colon + 1)));
    }
  }
  return fields;
}

}  // namespace muster
