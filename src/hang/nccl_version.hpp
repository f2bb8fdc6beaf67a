#pragma once

// Finds the version of NCCL that a process has loaded, and whether a question to its RAS subsystem is known to do
// harm (docs/hangs.md). Pure.

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

/// Reads "2.27.3"; after a further dot, any text may follow.
std::optional<NcclVersion> parse_nccl_version(std::string_view text);
std::string to_string(const NcclVersion& version);

/// The path of NCCL's library in the lines of /proc/PID/maps; empty: none, or several.
std::string find_nccl(std::string_view maps);

/// The folder into which the wheel was unpacked that has this library; empty: no wheel has it.
std::string wheel_folder(std::string_view library);

/// Finds the version by the library's name, such as "libnccl.so.2.27.7" from a distribution, otherwise by the `names`
/// in the folder of its wheel, such as "nvidia_nccl_cu12-2.27.3.dist-info". Empty: not known.
std::optional<NcclVersion> nccl_version(std::string_view library, const std::vector<std::string>& names);

/// "NCCL 2.28.9", or "NCCL" of an unknown version.
std::string describe(const std::optional<NcclVersion>& version);

/// Says why NCCL is not asked, and how a person can have it asked; empty: it is asked. `is_confirmed`: a person wants
/// it for any version.
std::string why_not_asked(const std::optional<NcclVersion>& version, bool is_confirmed);

}  // namespace muster::hang
