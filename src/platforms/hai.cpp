// HAI: RANK and WORLD_SIZE count nodes. Rank 0 sees MASTER_ADDR=localhost, which is no contradiction:
// MASTER_IP is the address that others can reach, and it wins. Old versions have no MARSV2_*; anybody may
// use MASTER_IP, so it is a sign of theirs only beside all of the bare names.
// Source: HFAiLab/hai-platform, the environment of a training task.
#include "platforms/platform.hpp"

#include "environment/own_host.hpp"

#include <algorithm>
#include <cctype>

namespace muster {
namespace {

constexpr int kUsualPort = 2222;

/// Its pods are deleted without a TERM.
constexpr std::chrono::seconds kGrace{0};

/// Good enough to tell an address from a name; nobody resolves anything here.
bool is_address(const std::string& text) {
  return text.find(':') != std::string::npos ||
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isdigit(c) != 0 || c == '.';
         });
}

Result<> read_master(PlatformFacts& facts, const Snapshot& snapshot) {
  std::optional<Sourced<std::string>> name;
  if (auto read = read_into(name, snapshot, "MASTER_ADDR", read_address); !read) {
    return read;
  }
  if (auto read = read_into(facts.master_address, snapshot, "MASTER_IP", read_address); !read) {
    return read;
  }
  if (!facts.master_address) {
    facts.master_address = name;
    return {};
  }
  const std::string& address = facts.master_address->value;
  const bool can_differ = !name || is_loopback(name->value) || !is_address(name->value);
  if (!can_differ && is_address(address) && name->value != address) {
    return contradiction(*name, *facts.master_address, "both are the leader's address");
  }
  return {};
}

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  const auto first = snapshot.variables.lower_bound("MARSV2_");
  if (first != snapshot.variables.end() && first->first.starts_with("MARSV2_")) {
    return snapshot.has("MARSV2_RANK") ? "MARSV2_RANK" : first->first;
  }
  const bool has_bare_names =
      snapshot.has("RANK") && snapshot.has("WORLD_SIZE") && snapshot.has("MASTER_PORT");
  return has_bare_names ? first_set(snapshot, {"MASTER_IP"}) : std::nullopt;
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  PlatformFacts facts;
  if (auto read = read_into(facts.nodes, snapshot, "WORLD_SIZE", read_node_count); !read) {
    return read.error();
  }
  constexpr const char* kRank = "both are the rank of this node";
  if (auto read =
          read_agreeing(facts.node_rank, snapshot, {"RANK", "MARSV2_RANK"}, read_node_rank, kRank);
      !read) {
    return read.error();
  }
  if (auto read = read_master(facts, snapshot); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.master_port, snapshot, "MASTER_PORT", read_port); !read) {
    return read.error();
  }
  facts.job_id = sourced_variable(snapshot, "MARSV2_TASK_ID");
  facts.grace = {kGrace, default_of("hai")};
  const bool has_peers = facts.nodes && facts.nodes->value > 1;
  if (!facts.master_port && has_peers) {
    facts.master_port = Sourced<int>{kUsualPort, default_of("hai")};
  }
  return facts;
}

}  // namespace

const Platform kHai = {
    "hai", "MARSV2_*, or MASTER_IP with the bare names", find_sign, read_platform};

}  // namespace muster
