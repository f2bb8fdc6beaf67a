#pragma once

// Who speaks to the store.

#include <cstdint>
#include <optional>
#include <string>

namespace muster::store {

/// One connection; no other has had the number.
using ClientId = std::uint64_t;

/// A process, as far as its connections tell: clients from torch 2.5 on say their pid, in their own pid namespace.
struct Process {
  std::string address;
  std::optional<std::uint32_t> pid{};

  bool operator==(const Process&) const = default;
  // NOLINTNEXTLINE(modernize-use-nullptr): what the compiler writes has a zero
  auto operator<=>(const Process&) const = default;
};

/// "10.0.0.7, pid 4711".
[[nodiscard]] std::string describe(const Process& process);

}  // namespace muster::store
