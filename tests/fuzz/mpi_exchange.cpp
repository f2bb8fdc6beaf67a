// Values that nodes exchange before and while ranks of MPI run, a line each: merged by the leader, read by all.
//
// The first byte chooses the key.
#include "base/text.hpp"
#include "exchange/startup_values.hpp"
#include "fuzz.hpp"

#include <algorithm>

namespace muster::fuzz {
namespace {

std::size_t lines_of(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// Configurations have the lines that muster writes, whatever nodes say of themselves.
void check_ssh(std::string_view merged, std::size_t count) {
  const auto nodes = read_agreed<SshKeysValue>(merged);
  require(nodes && nodes->size() == count, "each node is there");
  const auto servers = static_cast<std::size_t>(
      std::count_if(nodes->begin(), nodes->end(), [](const mpi::SshNode& node) { return node.port != 0; }));
  const auto known = mpi::known_hosts(*nodes);
  require(!known || lines_of(*known) == servers, "a line for each host");
  const auto config = mpi::client_config("/f", *nodes);
  static const std::size_t common = lines_of(*mpi::client_config("/f", {}));
  constexpr std::size_t kLinesOfHost = 5;
  require(!config || lines_of(*config) == common + servers * kLinesOfHost, "five lines a host");
  for (const mpi::SshNode& node : *nodes) {
    const auto key = mpi::read_public_key(node.key);
    require(!key || split(key->words + " " + key->user, ' ').size() == 3, "three plain words");
    require(!key || lines_of(key->words + key->user) == 0, "a key is a line");
  }
}

void check_merged(int key, std::string_view merged, const std::vector<gang::NodePart>& parts) {
  if (key == 0) {
    require(read_agreed<MpiStartValue>(merged).has_value(), "all understand the way that was agreed on");
  } else if (key == 1) {
    require(read_agreed<FenceValue>(merged).has_value(), "all understand how a fence has ended");
  } else if (key == 2) {
    check_ssh(merged, parts.size());
  } else if (key == 3) {
    const auto ports = read_agreed<PortsValue>(merged);
    require(ports && ports->size() == parts.size(), "all understand the ports");
  } else if (key == 5) {
    require(read_agreed<RoutePlanValue>(merged).has_value(), "all understand the decision about the route plan");
  } else {
    require(merged == parts.front().bytes, "the first node's secret is all nodes'");
  }
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  if (size < 2) {
    return 0;
  }
  static const std::vector<gang::ExchangeKey> keys = {key_of<MpiStartValue>(),  key_of<FenceValue>(),
                                                      key_of<SshKeysValue>(),   key_of<PortsValue>(),
                                                      key_of<JobSecretValue>(), key_of<RoutePlanValue>()};
  const std::string_view text = fuzz::text_of(data, size).substr(1);
  const std::vector<std::string> lines = split(text, '\n');
  std::vector<gang::NodePart> parts;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    parts.push_back({NodeRank{static_cast<int>(i)}, "10.0.0.1", lines[i]});
  }
  const std::size_t key = data[0] % keys.size();
  const auto merged = keys[key].merge(parts);
  if (merged) {
    fuzz::check_merged(static_cast<int>(key), *merged, parts);
  } else {
    fuzz::require(!merged.error().message.empty(), "an error says what is wrong");
  }
  // As another version of muster might have merged it.
  (void)read_agreed<MpiStartValue>(text);
  (void)read_agreed<FenceValue>(text);
  (void)read_agreed<SshKeysValue>(text);
  (void)read_agreed<PortsValue>(text);
  (void)read_agreed<RoutePlanValue>(text);
  return 0;
}
