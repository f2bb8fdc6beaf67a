#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster {

/// Where the processes of one node can be reached that listen on ports of their own.
struct NodePorts {
  std::string host;                  ///< name or numeric address, without brackets
  std::vector<std::uint16_t> ports;  ///< one for each process that listens, by local rank
  int slots = 0;                     ///< of the node: how many processes per device it has
  std::string name = {};             ///< as the node itself says it

  bool operator==(const NodePorts&) const = default;
};

}  // namespace muster
