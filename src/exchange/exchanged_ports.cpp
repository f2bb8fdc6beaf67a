// Ports as JSON, {"host": "10.0.0.1", "slots": 2, "ports": [5000, 5001]}, and all of them as a list.
#include "base/json.hpp"
#include "exchange/exchanged_ports.hpp"

#include <optional>

namespace muster {
namespace {

/// A port takes 6 bytes at most.
constexpr std::size_t kMostBytesOfNode = 6 * kMostPortsOfNode + 512;
constexpr std::size_t kMostMergedBytes = std::size_t{2} << 20U;
constexpr int kMostSlots = 1'000'000;
constexpr int kMostPort = 65'535;

json::object to_json(const NodePorts& node) {
  return {{"host", node.host},
          {"name", node.name},
          {"slots", node.slots},
          {"ports", json::array(node.ports.begin(), node.ports.end())}};
}

std::optional<int> number_of(const json::value* value, int least, int most) {
  const std::int64_t* const number = value == nullptr ? nullptr : value->if_int64();
  const bool fits = number != nullptr && *number >= least && *number <= most;
  return fits ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

std::optional<NodePorts> from_json(const json::value& value) {
  const json::object* const object = value.if_object();
  if (object == nullptr) {
    return std::nullopt;
  }
  const json::value* const host = object->if_contains("host");
  const json::value* const name = object->if_contains("name");
  const json::value* const ports = object->if_contains("ports");
  const auto slots = number_of(object->if_contains("slots"), 1, kMostSlots);
  if (host == nullptr || !host->is_string() || name == nullptr || !name->is_string() ||
      ports == nullptr || !ports->is_array() || !slots ||
      ports->get_array().size() > kMostPortsOfNode) {
    return std::nullopt;
  }
  NodePorts node{std::string(host->get_string()), {}, *slots, std::string(name->get_string())};
  for (const json::value& item : ports->get_array()) {
    const auto port = number_of(&item, 1, kMostPort);
    if (!port) {
      return std::nullopt;
    }
    node.ports.push_back(static_cast<std::uint16_t>(*port));
  }
  return node;
}

std::optional<json::value> parse(std::string_view text) {
  boost::system::error_code error;
  json::value document = json::parse({text.data(), text.size()}, error);
  return error ? std::nullopt : std::optional(std::move(document));
}

Result<std::string> merge(const std::vector<gang::NodePart>& parts) {
  json::array nodes;
  for (const gang::NodePart& part : parts) {
    const auto document = parse(part.bytes);
    auto node = document ? from_json(*document) : std::nullopt;
    if (!node) {
      return Error{ErrorKind::System, "of node " + to_string(part.node) + " are missing or torn"};
    }
    node->host = part.address;
    nodes.push_back(to_json(*node));
  }
  return json::serialize(nodes);
}

}  // namespace

gang::ExchangeKey ports_key() {
  return {"ports", gang::Phase::BeforeStart, kMostBytesOfNode, kMostMergedBytes, merge};
}

NodePorts ports_of_node(const std::vector<WorkerPort>& reserved,
                        int slots,
                        const std::string& name) {
  NodePorts node;
  node.name = name;
  node.slots = slots;
  for (const WorkerPort& port : reserved) {
    node.ports.push_back(port.number());
  }
  return node;
}

std::string write_ports(const NodePorts& node) {
  return json::serialize(to_json(node));
}

Result<std::vector<NodePorts>> read_ports(std::string_view merged) {
  const Error unreadable{ErrorKind::BadData, "the ports of all nodes cannot be read"};
  const auto document = parse(merged);
  if (!document || !document->is_array()) {
    return unreadable;
  }
  std::vector<NodePorts> nodes;
  for (const json::value& item : document->get_array()) {
    auto node = from_json(item);
    if (!node) {
      return unreadable;
    }
    nodes.push_back(std::move(*node));
  }
  return nodes;
}

}  // namespace muster
