// Nodes as JSON, {"name": "host-1", "port": 36666, "key": "ssh-ed25519 AAAA ann@host-1"}, and all as a list.
#include "base/json.hpp"
#include "exchange/exchanged_ssh.hpp"

#include <algorithm>
#include <optional>

namespace muster {
namespace {

constexpr std::size_t kMostBytesOfNode = std::size_t{8} << 10U;
constexpr std::size_t kMostMergedBytes = std::size_t{16} << 20U;

json::object to_json(const mpi::SshNode& node) {
  return {{"name", node.name}, {"port", node.port}, {"key", node.key}, {"address", node.address}};
}

mpi::SshNode from_json(const json::value& value) {
  const json::object& object = value.as_object();
  return {json::value_to<std::string>(object.at("name")),
          json::value_to<std::uint16_t>(object.at("port")),
          json::value_to<std::string>(object.at("key")),
          json::value_to<std::string>(object.at("address"))};
}

Result<std::string> merge(const std::vector<gang::NodePart>& parts) {
  json::array nodes;
  for (const gang::NodePart& part : parts) {
    auto node = read_ssh_nodes("[" + std::string(part.bytes) + "]");
    if (!node || node->size() != 1) {
      return Error{ErrorKind::System, "of node " + to_string(part.node) + " are missing or torn"};
    }
    node->front().address = part.address;
    nodes.push_back(to_json(node->front()));
  }
  return json::serialize(nodes);
}

}  // namespace

gang::ExchangeKey ssh_keys_key() {
  return {"ssh_keys", gang::Phase::WhileRunning, kMostBytesOfNode, kMostMergedBytes, merge};
}

std::string write_ssh_node(const mpi::SshNode& node) {
  return json::serialize(to_json(node));
}

Result<std::vector<mpi::SshNode>> read_ssh_nodes(std::string_view merged) {
  try {
    std::vector<mpi::SshNode> nodes;
    const json::value document = json::parse({merged.data(), merged.size()});
    for (const json::value& item : document.as_array()) {
      nodes.push_back(from_json(item));
    }
    return nodes;
  } catch (const std::exception&) {  // Boost.JSON's way to say it
    return Error{ErrorKind::BadData, "the keys of all nodes cannot be read"};
  }
}

}  // namespace muster
