// The list of platforms, and the strict readers of single values that they share.
#include "platform.hpp"

#include <muster/base/text.hpp>

#include <array>

namespace muster {

std::span<const Platform> platforms() {
  // Most specific first: HAI and the operators set the bare names too, with meanings of their own.
  static constexpr std::array<Platform, 4> kPlatforms = {{
      {"hai", "MARSV2_* or MASTER_IP", is_hai, read_hai},
      {"pet", "PET_NNODES", is_pet, read_pet},
      {"volcano", "VC_TASK_INDEX or VK_TASK_INDEX", is_volcano, read_volcano},
      {"bare", "RANK or WORLD_SIZE", is_bare, read_bare},
  }};
  return kPlatforms;
}

std::optional<Sourced<std::string>> sourced_variable(const Snapshot& snapshot,
                                                     const std::string& name) {
  const auto value = snapshot.variable(name);
  return value ? std::optional(Sourced<std::string>{*value, name}) : std::nullopt;
}

Result<Sourced<int>> read_node_count(const Sourced<std::string>& text) {
  const auto count = parse_integer(text.value, 1, kMostNodes);
  if (!count) {
    return wrong_value(text, "a number of nodes from 1 to " + std::to_string(kMostNodes));
  }
  return Sourced<int>{*count, text.source};
}

Result<Sourced<int>> read_node_rank(const Sourced<std::string>& text) {
  const auto rank = parse_integer(text.value, 0, kMostNodes - 1);
  if (!rank) {
    return wrong_value(text, "a node rank such as 0 or 3");
  }
  return Sourced<int>{*rank, text.source};
}

Result<Sourced<int>> read_port(const Sourced<std::string>& text) {
  const auto port = parse_integer(text.value, 1, 65'535);
  if (!port) {
    return wrong_value(text, "a port from 1 to 65535");
  }
  return Sourced<int>{*port, text.source};
}

Result<Sourced<std::string>> read_address(const Sourced<std::string>& text) {
  if (text.value.empty() || text.value.find_first_of(" \t\r\n,/") != std::string::npos) {
    return wrong_value(text, "a host name or an address");
  }
  return text;
}

Error contradiction(const Sourced<std::string>& one,
                    const Sourced<std::string>& other,
                    std::string_view why) {
  const bool is_usage = is_flag(one.source) || is_flag(other.source);
  return Error{is_usage ? ErrorKind::BadUsage : ErrorKind::BadEnvironment,
               one.source + " is '" + one.value + "' but " + other.source + " is '" + other.value +
                   "': " + std::string(why)};
}

Error contradiction(const Sourced<int>& one, const Sourced<int>& other, std::string_view why) {
  return contradiction(Sourced<std::string>{std::to_string(one.value), one.source},
                       Sourced<std::string>{std::to_string(other.value), other.source}, why);
}

}  // namespace muster
