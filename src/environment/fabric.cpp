// The names of counters are those of the kernel.
#include "environment/fabric.hpp"

#include "environment/mounted_files.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace muster {
namespace {

struct Counter {
  const char* name;     ///< below the folder of the port
  std::uint64_t bytes;  ///< of one count
};

constexpr std::array<Counter, 4> kCounters{{
    {"counters/port_xmit_data", 4},
    {"counters/port_rcv_data", 4},
    {"hw_counters/tx_bytes", 1},
    {"hw_counters/rx_bytes", 1},
}};

/// With a slash at the end.
std::vector<std::string> port_folders(const std::filesystem::path& devices) {
  std::vector<std::string> folders;
  for (const std::string& device : entries_of(devices)) {
    for (const std::string& port : entries_of(devices / device / "ports")) {
      folders.push_back((devices / device / "ports" / port / "").string());
    }
  }
  return folders;
}

std::optional<std::uint64_t> bytes_of_port(const std::string& folder) {
  std::optional<std::uint64_t> sum;
  for (const Counter& counter : kCounters) {
    if (const std::string count = first_line(folder + counter.name); !count.empty()) {
      sum = sum.value_or(0) + std::strtoull(count.c_str(), nullptr, 10) * counter.bytes;
    }
  }
  return sum;
}

}  // namespace

std::optional<std::uint64_t> read_fabric_bytes(const std::string& root) {
  std::optional<std::uint64_t> sum;
  for (const std::string& port : port_folders(root + "/sys/class/infiniband")) {
    if (const auto bytes = bytes_of_port(port)) {
      sum = sum.value_or(0) + *bytes;
    }
  }
  return sum;
}

}  // namespace muster
