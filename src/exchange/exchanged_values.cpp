// Encodes and merges the values that nodes exchange: PMIx fences, ports, the job secret, ssh keys and MPI start
// methods.
#include "exchange/exchanged_values.hpp"

#include "base/json.hpp"
#include "base/text.hpp"

#include <algorithm>

namespace muster {
namespace {

/// Limit of a fence: a rank contributes some 100 to 1,000 bytes.
constexpr std::size_t kMostBytes = std::size_t{16} << 20U;
constexpr int kMostRank = 10'000'000;

/// First byte of a part, and of the merged result.
constexpr char kSaid = '+';
constexpr char kAbsent = '-';

Result<std::string> join_parts(const std::vector<gang::NodePart>& parts) {
  std::string all(1, kSaid);
  for (const gang::NodePart& part : parts) {
    const auto end = read_fence_end(part.bytes);
    if (!end) {
      return Error{ErrorKind::System, "of node " + to_string(part.node) + " are missing or torn"};
    }
    if (end->absent_rank) {
      return std::string(part.bytes);
    }
    all += end->said;
  }
  return all;
}

}  // namespace

gang::ExchangeKey pmix_fence_key() {
  return {"pmix_fence", gang::Phase::WhileRunning, kMostBytes, kMostBytes, join_parts};
}

std::string write_fence_part(std::string_view said) {
  return kSaid + std::string(said);
}

std::string write_absent_rank(int rank) {
  return kAbsent + std::to_string(rank);
}

Result<FenceEnd> read_fence_end(std::string_view merged) {
  if (merged.starts_with(kSaid)) {
    return FenceEnd{std::nullopt, merged.substr(1)};
  }
  const auto rank =
      merged.starts_with(kAbsent) ? parse_integer(std::string(merged.substr(1)), 0, kMostRank) : std::nullopt;
  if (!rank) {
    return Error{ErrorKind::BadData, "a fence of MPI's ranks came back torn"};
  }
  return FenceEnd{static_cast<int>(*rank), {}};
}

// Ports as JSON, {"host": "10.0.0.1", "slots": 2, "ports": [5000, 5001]}, and all of them as a list.

namespace {

/// A port takes 6 bytes at most.
constexpr std::size_t kMostPortBytesOfNode = 6 * kMostPortsOfNode + 512;
constexpr std::size_t kMostMergedPortBytes = std::size_t{2} << 20U;
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

std::optional<NodePorts> ports_from_json(const json::value& value) {
  const json::object* const object = value.if_object();
  if (object == nullptr) {
    return std::nullopt;
  }
  const json::value* const host = object->if_contains("host");
  const json::value* const name = object->if_contains("name");
  const json::value* const ports = object->if_contains("ports");
  const auto slots = number_of(object->if_contains("slots"), 1, kMostSlots);
  if (host == nullptr || !host->is_string() || name == nullptr || !name->is_string() || ports == nullptr ||
      !ports->is_array() || !slots || ports->get_array().size() > kMostPortsOfNode) {
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

Result<std::string> merge_ports(const std::vector<gang::NodePart>& parts) {
  json::array nodes;
  for (const gang::NodePart& part : parts) {
    const auto document = parse(part.bytes);
    auto node = document ? ports_from_json(*document) : std::nullopt;
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
  return {"ports", gang::Phase::BeforeStart, kMostPortBytesOfNode, kMostMergedPortBytes, merge_ports};
}

NodePorts ports_of_node(const std::vector<WorkerPort>& reserved, int slots, const std::string& name) {
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
    auto node = ports_from_json(item);
    if (!node) {
      return unreadable;
    }
    nodes.push_back(std::move(*node));
  }
  return nodes;
}

// The job secret: node 0's is used.

namespace {

constexpr std::size_t kDigits = 32;

Result<std::string> merge_secrets(const std::vector<gang::NodePart>& parts) {
  if (parts.empty() || parts.front().bytes.size() != kDigits) {
    return Error{ErrorKind::System, "of node 0 is missing or torn"};
  }
  return std::string(parts.front().bytes);
}

}  // namespace

gang::ExchangeKey job_secret_key() {
  return {"job_secret", gang::Phase::BeforeStart, kDigits, kDigits, merge_secrets};
}

std::string read_job_secret(const gang::Exchanged& merged) {
  const auto secret = merged.find(job_secret_key().name);
  return secret == merged.end() ? std::string() : secret->second;
}

// Nodes as JSON, {"name": "host-1", "port": 36666, "key": "ssh-ed25519 AAAA ann@host-1"}, and all as a list.

namespace {

constexpr std::size_t kMostKeyBytesOfNode = std::size_t{8} << 10U;
constexpr std::size_t kMostMergedKeyBytes = std::size_t{16} << 20U;

json::object to_json(const mpi::SshNode& node) {
  return {{"name", node.name}, {"port", node.port}, {"key", node.key}, {"address", node.address}};
}

Result<std::string> merge_ssh_nodes(const std::vector<gang::NodePart>& parts) {
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
  return {"ssh_keys", gang::Phase::WhileRunning, kMostKeyBytesOfNode, kMostMergedKeyBytes, merge_ssh_nodes};
}

std::string write_ssh_node(const mpi::SshNode& node) {
  return json::serialize(to_json(node));
}

Result<std::vector<mpi::SshNode>> read_ssh_nodes(std::string_view merged) {
  try {
    std::vector<mpi::SshNode> nodes;
    const json::value document = json::parse({merged.data(), merged.size()});
    for (const json::value& item : document.as_array()) {
      nodes.push_back({json::value_to<std::string>(item.at("name")), json::value_to<std::uint16_t>(item.at("port")),
                       json::value_to<std::string>(item.at("key")), json::value_to<std::string>(item.at("address"))});
    }
    return nodes;
  } catch (const std::exception&) {  // Boost.JSON reports errors by exceptions
    return Error{ErrorKind::BadData, "the keys of all nodes cannot be read"};
  }
}

// Reports of the nodes about MPI start methods, and the method that they agree on.

namespace {

constexpr std::size_t kMostVoteBytesOfNode = 8'192;
constexpr std::size_t kMostMergedVoteBytes = std::size_t{64} << 10U;

using Reports = std::vector<MethodReport>;

Result<Reports> read_methods(const gang::NodePart& part) {
  try {
    Reports reports;
    const json::value document = json::parse({part.bytes.data(), part.bytes.size()});
    for (const json::value& item : document.as_array()) {
      const json::object& report = item.as_object();
      reports.push_back(
          {json::value_to<std::string>(report.at("way")), json::value_to<std::string>(report.at("why_not"))});
    }
    return reports;
  } catch (const std::exception&) {  // Boost.JSON reports errors by exceptions
    return Error{ErrorKind::System, "of node " + to_string(part.node) + " are missing or torn"};
  }
}

/// The first node on which the method does not work, and why; empty: it works everywhere.
std::string find_refusal(std::size_t method, const std::vector<Reports>& nodes) {
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const MethodReport& report = nodes[node].at(method);
    if (!report.why_not.empty()) {
      return report.method + " does not work on node " + std::to_string(node) + ": " + report.why_not;
    }
  }
  return {};
}

Result<std::string> agree(const std::vector<gang::NodePart>& parts) {
  std::vector<Reports> nodes;
  for (const gang::NodePart& part : parts) {
    auto reports = TRY(read_methods(part));
    if (!nodes.empty() && reports.size() != nodes.front().size()) {
      return Error{ErrorKind::BadData,
                   "the nodes were given different --mpi-start, or options for mpirun: node 0 has " +
                       std::to_string(nodes.front().size()) + " ways, node " + to_string(part.node) + " has " +
                       std::to_string(reports.size())};
    }
    nodes.push_back(std::move(reports));
  }
  std::vector<std::string> why_not;
  for (std::size_t method = 0; !nodes.empty() && method < nodes.front().size(); ++method) {
    std::string refusal = find_refusal(method, nodes);
    if (refusal.empty()) {
      return json::serialize(json::object{{"index", method}, {"why_not", json::array(why_not.begin(), why_not.end())}});
    }
    why_not.push_back(std::move(refusal));
  }
  return Error{ErrorKind::BadData, "no way to start ranks of MPI works on all nodes: " + join(why_not, "; ")};
}

}  // namespace

gang::ExchangeKey methods_key() {
  return {"mpi_ways", gang::Phase::BeforeStart, kMostVoteBytesOfNode, kMostMergedVoteBytes, agree};
}

std::string write_methods(const Reports& reports) {
  json::array all;
  for (const MethodReport& report : reports) {
    all.push_back(json::object{{"way", report.method}, {"why_not", report.why_not}});
  }
  return json::serialize(all);
}

Result<AgreedMethod> read_agreed_method(std::string_view merged) {
  try {
    const json::object document = json::parse({merged.data(), merged.size()}).as_object();
    return AgreedMethod{json::value_to<std::size_t>(document.at("index")),
                        json::value_to<std::vector<std::string>>(document.at("why_not"))};
  } catch (const std::exception&) {  // Boost.JSON reports errors by exceptions
    return Error{ErrorKind::BadData, "the way to start ranks of MPI is torn"};
  }
}

}  // namespace muster
