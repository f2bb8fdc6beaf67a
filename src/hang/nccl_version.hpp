#pragma once

// Finds the version of the NCCL that a process has mapped, and whether it is known to take harm from a question to its
// RAS subsystem (docs/hangs.md). Pure.

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::hang {

struct NcclVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;
  auto operator<=>(const NcclVersion&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// Reads "2.27.3", also with more behind a dot.
std::optional<NcclVersion> parse_nccl_version(std::string_view text);
std::string to_string(const NcclVersion& version);

/// The path of NCCL's library in the lines of /proc/PID/maps; empty: none, or several.
std::string find_nccl(std::string_view maps);

/// The folder that a wheel of NCCL was unpacked into, of whose library this is the path; empty: it is of no wheel.
std::string wheel_folder(std::string_view library);

/// The version by the name of the library, such as "libnccl.so.2.27.7" of a package of a distribution, else by `names`,
/// those in the folder of its wheel, such as "nvidia_nccl_cu12-2.27.3.dist-info". Empty: not known.
std::optional<NcclVersion> nccl_version(std::string_view library, const std::vector<std::string>& names);

/// "NCCL 2.28.9", or "NCCL" of an unknown version.
std::string describe(const std::optional<NcclVersion>& version);

/// A sentence that says why NCCL is not asked, and how it is all the same; empty: it is asked. `is_confirmed`: a person
/// wants it whatever is known of the version.
std::string why_not_asked(const std::optional<NcclVersion>& version, bool is_confirmed);

}  // namespace muster::hang
