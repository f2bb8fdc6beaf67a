// Knows NCCL by the names of its files, and its faults by a table.
#include "hang/nccl_version.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace muster::hang {
namespace {

constexpr std::string_view kLibrary = "libnccl.so.";
constexpr std::string_view kInWheel = "/nvidia/nccl/lib/libnccl.so.2";
constexpr NcclVersion kFirstWithJson{2, 28, 7};

/// A fault: the harm that a question does to versions from `first` until before `end`. Older ones cannot be asked.
struct Fault {
  NcclVersion first;
  NcclVersion end;
  const char* what;
};

constexpr std::array kFaults{
    Fault{kFirstWithJson, {2, 29, 2}, "it reads wrong memory if a rank is missing (NVIDIA/nccl#1762)"},
    Fault{{2, 29, 7}, {99, 0, 0}, "it may crash while communicators are set up (NVIDIA/nccl#2346)"},
};

std::optional<NcclVersion> version_of_wheel(std::string_view name) {
  constexpr std::string_view kEnd = ".dist-info";
  if (!name.starts_with("nvidia_nccl_cu") || !name.ends_with(kEnd)) {
    return {};
  }
  name.remove_suffix(kEnd.size());
  return parse_nccl_version(name.substr(name.find('-') + 1));
}

}  // namespace

std::optional<NcclVersion> parse_nccl_version(std::string_view text) {
  constexpr int kMost = 9'999;
  const std::vector<std::string> parts = split(text, '.');
  if (parts.size() < 3) {
    return {};
  }
  const auto major = parse_integer(parts[0], 0, kMost);
  const auto minor = parse_integer(parts[1], 0, kMost);
  const auto patch = parse_integer(parts[2], 0, kMost);
  return major && minor && patch ? std::optional(NcclVersion{*major, *minor, *patch}) : std::nullopt;
}

std::string to_string(const NcclVersion& version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor) + "." + std::to_string(version.patch);
}

std::string find_nccl(std::string_view maps) {
  std::string found;
  while (!maps.empty()) {
    const std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    const std::string_view path = line.substr(std::min(line.find('/'), line.size()));
    if (!path.substr(path.rfind('/') + 1).starts_with(kLibrary) || path == found) {
      continue;
    }
    if (!found.empty()) {
      return {};
    }
    found = path;
  }
  return found;
}

std::string wheel_folder(std::string_view library) {
  return library.ends_with(kInWheel) ? std::string(library.substr(0, library.size() - kInWheel.size())) : "";
}

std::optional<NcclVersion> nccl_version(std::string_view library, const std::vector<std::string>& names) {
  const std::string_view name = library.substr(library.rfind('/') + 1);
  std::optional<NcclVersion> found =
      name.starts_with(kLibrary) ? parse_nccl_version(name.substr(kLibrary.size())) : std::nullopt;
  for (std::size_t i = 0; i < names.size() && !wheel_folder(library).empty(); ++i) {
    const auto version = version_of_wheel(names[i]);
    if (version && found && *version != *found) {
      return {};  // two wheels have written the same file
    }
    found = version ? version : found;
  }
  return found;
}

std::string describe(const std::optional<NcclVersion>& version) {
  return version ? "NCCL " + to_string(*version) : "NCCL";
}

std::string why_not_asked(const std::optional<NcclVersion>& version, bool is_confirmed) {
  const std::string begin = describe(version) + " is not asked: ";
  if (version && *version < kFirstWithJson) {
    return begin + "it cannot answer in JSON, as " + describe(kFirstWithJson) + " and later do";
  }
  const auto fault = std::ranges::find_if(
      kFaults, [&](const Fault& one) { return version && one.first <= *version && *version < one.end; });
  if (is_confirmed || (version && fault == kFaults.end())) {
    return {};
  }
  return begin + (version ? fault->what : "its version is not known, and some crash when they are asked") +
         "; 'muster stacks --ask-nccl=yes' asks it all the same";
}

}  // namespace muster::hang
