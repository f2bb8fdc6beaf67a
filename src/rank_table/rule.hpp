#pragma once

// Rules about a table's members as rows of a table, and what they remember of the members that they have seen.

#include "rank_table/check.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace muster::rank_table {

/// The forms that a rule is for, as bits.
using Forms = unsigned;

constexpr Forms bit(Form form) {
  return 1U << static_cast<unsigned>(form);
}

inline constexpr Forms kPods = bit(Form::Groups);
inline constexpr Forms kGroups = kPods | bit(Form::Standard);
inline constexpr Forms kSuper = bit(Form::SuperPods);
inline constexpr Forms kServers = bit(Form::Version1) | kSuper;
inline constexpr Forms kRanks = bit(Form::Version2);
inline constexpr Forms kHosts = kGroups | kServers;
inline constexpr Forms kAll = kHosts | kRanks;
inline constexpr Forms kRanked = kAll & ~kPods;

inline constexpr std::string_view kNoCode;  ///< CANN has no code for the rule

struct Rule;

/// A member of the document that a rule checks.
struct Item {
  const Rule& rule;
  const InstancePlace* server = nullptr;  ///< null: the member is the document's
  const DevicePlace* device = nullptr;    ///< null: the member is the server's
  const json::value* value = nullptr;     ///< null: the member is missing
};

using Owners = std::unordered_map<std::string, const DevicePlace*>;  // the key is an address's bytes

/// Facts that rules note about the members that they have seen, for later members.
struct State {
  const Checked& table;
  Form form = table.layout.form;
  std::string detail = {};  ///< replaces % in a rule's `expected`

  std::size_t devices = 0;
  bool has_host_addresses = false;
  bool needs_addresses = false;
  std::map<int, std::size_t> group_sizes = {};  ///< instances of each group

  bool has_reported_first = false;                           ///< a rule that reports only one breach has found it
  std::set<std::pair<int, std::uint64_t>> pod_numbers = {};  ///< each with its group
  std::set<std::string_view> servers = {};
  std::vector<const DevicePlace*> ranks = {};
  const json::object* without_rank = nullptr;  ///< the last object that was found to have no rank
  const InstancePlace* server = nullptr;       ///< the server that has `server_number`
  std::uint64_t server_number = 0;
  std::map<std::string_view, std::uint64_t> server_numbers = {};
  std::unordered_map<std::uint64_t, const DevicePlace*> ids = {};  ///< by the server's number and the device id
  std::optional<std::ptrdiff_t> addresses = {};                    ///< number of addresses of the first device
  Owners owners = {};
  Owners backup_owners = {};
  bool has_super_pods = false;
  std::map<std::string_view, std::size_t> super_pods = {};  ///< number of the super pod, by server
  std::optional<std::size_t> super_pod = {};                ///< of the server seen last
  std::set<std::pair<std::size_t, std::string>> super_device_ids = {};
  std::set<std::pair<std::string_view, int>> network_devices = {};
};

/// The objects in which a rule looks for its member.
enum class Of {
  Root,
  EachServer,
  EachDevice,
  AllDevices
};
using enum Of;

/// A rule: a row of the table in check.cpp.
struct Rule {
  int pass;  ///< in one pass all rules see a server, then each of its devices, before the next server
  Forms forms;
  Of of;  ///< `AllDevices`: one breach is reported for all of them
  std::string_view member;
  bool (*is_broken)(State&, const Item&);  ///< may also add breaches itself and return false
  std::string_view expected;
  std::string_view code;
};

/// Applies the rules in the order of their passes.
void apply(State& state, std::span<const Rule> rules);

/// Reports one breach for all devices, with the first one's path and their count: usually all have the same fault.
void see_all_devices(State& state, const Rule& rule);

/// Adds a breach of the item's rule, and one at another place.
void add(State& state, const Item& item, std::string expected);
void add_at(State& state, const Item& item, std::string path, const json::value* value, std::string_view expected);

std::string path_of(const State& state, const Item& item);

bool is_missing(State& state, const Item& item);
bool is_text(State& state, const Item& item);
bool is_number(State& state, const Item& item);

}  // namespace muster::rank_table
