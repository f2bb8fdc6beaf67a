// Assigns the job's places to agents, describes missing nodes, compares what two agents say about the job, and counts
// hosts and roles.
#include "gang/protocol/roster.hpp"

#include "base/lists.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace muster::gang {
namespace {

/// Limit of absent nodes in a message: a list of thousands helps no user.
constexpr std::size_t kNamed = 8;

std::string host_of(int seat, const std::vector<std::optional<std::string>>& hosts,
                    const std::set<std::string>& unresolved) {
  const auto index = static_cast<std::size_t>(seat);
  if (index >= hosts.size() || !hosts[index]) {
    return {};
  }
  const bool is_unresolved = unresolved.contains(*hosts[index]);
  return " (" + *hosts[index] + (is_unresolved ? ", a name that does not resolve" : "") + ")";
}

}  // namespace

std::string describe(const Member& member) {
  const std::string& host = member.join.node.host;  // a join of another protocol version has no host
  if (member.peer.empty() || host.empty()) {
    return host + member.peer;
  }
  return host + " (" + member.peer + ")";
}

std::string describe_seat(const Member& member) {
  return describe_node(NodeRank{*member.seat}, member.join.node.host);
}

Member& Roster::add(LinkId link, Member member) {
  return members_.insert_or_assign(link, std::move(member)).first->second;
}

void Roster::remove(LinkId link) {
  withdraw_claim(link);
  members_.erase(link);
}

Member* Roster::find(LinkId link) {
  const auto at = members_.find(link);
  return at == members_.end() ? nullptr : &at->second;
}

const Member* Roster::find(LinkId link) const {
  const auto at = members_.find(link);
  return at == members_.end() ? nullptr : &at->second;
}

std::vector<LinkId> Roster::links() const {
  return mapped(members_, [](const auto& entry) { return entry.first; });
}

bool Roster::has_others() const {
  return members_.size() > members_.count(kOwnLink);
}

std::size_t Roster::others() const {
  std::size_t count = members_.size() - members_.count(kOwnLink);
  for (const auto& [seat, claimants] : claims_) {
    count -= claimants.size();
  }
  return count;
}

void Roster::take_seat(LinkId link, int seat) {
  members_.at(link).seat = seat;
  withdraw_claim(link);
  seats_[static_cast<std::size_t>(seat)] = link;
  roles_[static_cast<std::size_t>(seat)] = members_.at(link).join.node.role_name;
  departures_.erase(seat);
  refused_.erase(describe(members_.at(link)));
  refused_.erase(members_.at(link).peer);
  ++seated_;
  seated_unready_ += members_.at(link).waits_for.empty() ? 0 : 1;
  seated_slots_ += members_.at(link).join.node.slots;
}

void Roster::leave_seat(LinkId link, std::string how) {
  Member& member = members_.at(link);
  if (!member.seat) {
    return;
  }
  seats_[static_cast<std::size_t>(*member.seat)].reset();
  if (!keeps_roles_) {
    roles_[static_cast<std::size_t>(*member.seat)].reset();
  }
  departures_[*member.seat] = " (" + member.join.node.host + ") " + std::move(how);
  member.seat.reset();
  --seated_;
  seated_unready_ -= member.waits_for.empty() ? 0 : 1;
  seated_slots_ -= member.join.node.slots;
}

void Roster::note_refusal(LinkId link, const std::string& reason) {
  const Member& member = members_.at(link);
  const auto rank = member.join.node.rank;
  const bool has_seat = rank && rank->value >= 0 && rank->value < seats();
  if (has_seat && !holder(rank->value)) {
    departures_[rank->value] = " (" + member.join.node.host + ") was refused: " + reason;
  } else if (!has_seat && refused_.size() < kNamed) {
    refused_[describe(member)] = " was refused: " + reason;
  }
}

void Roster::note_stranger(const std::string& peer, const std::string& why) {
  if (refused_.size() < kNamed) {
    refused_[peer] = " was refused: it " + why;
  }
}

std::optional<LinkId> Roster::holder(int seat) const {
  return seats_[static_cast<std::size_t>(seat)];
}

std::optional<int> Roster::free_seat() const {
  const auto at = std::find(seats_.begin(), seats_.end(), std::nullopt);
  return at == seats_.end() ? std::nullopt : std::optional(static_cast<int>(at - seats_.begin()));
}

bool Roster::fits(const Member& member, int seat) const {
  const auto& rank = member.join.node.rank;
  const auto& role = roles_[static_cast<std::size_t>(seat)];
  return rank ? rank->value == seat : !role || *role == member.join.node.role_name;
}

std::optional<int> Roster::free_seat_for(const Member& member, const std::set<int>& taken) const {
  const auto& rank = member.join.node.rank;
  const int end = rank ? std::min(rank->value + 1, seats()) : seats();
  for (int seat = rank ? rank->value : 0; seat < end; ++seat) {
    if (!holder(seat) && !taken.contains(seat) && fits(member, seat)) {
      return seat;
    }
  }
  return std::nullopt;
}

void Roster::open_free_seats() {
  for (const int seat : missing()) {
    roles_[static_cast<std::size_t>(seat)].reset();
  }
}

/// The role that a seat is reserved for; empty: any role may have it, or all nodes have the same.
std::string Roster::role_wanted_in(int seat) const {
  const auto& role = roles_[static_cast<std::size_t>(seat)];
  const bool is_one_of_several =
      role && std::ranges::any_of(roles_, [&](const auto& other) { return other && *other != *role; });
  return is_one_of_several ? *role : "";
}

int Roster::end_of_seated() const {
  const auto last = std::find_if(seats_.rbegin(), seats_.rend(), [](const auto& holder) { return holder.has_value(); });
  return static_cast<int>(seats_.rend() - last);
}

std::vector<LinkId> Roster::in_order() const {
  std::vector<LinkId> links;
  for (const auto& holder : seats_) {
    if (holder) {
      links.push_back(*holder);
    }
  }
  return links;
}

std::vector<LinkId> Roster::spares() const {
  std::vector<LinkId> links;
  for (const auto& [link, member] : members_) {
    if (!member.seat && !member.claimed_seat && !member.leaving_after) {
      links.push_back(link);
    }
  }
  std::stable_partition(links.begin(), links.end(),
                        [this](LinkId link) { return members_.at(link).waits_for.empty(); });
  return links;
}

void Roster::note_inputs(LinkId link, std::string waits_for) {
  Member& member = members_.at(link);
  const int before = member.waits_for.empty() ? 0 : 1;
  member.waits_for = std::move(waits_for);
  if (member.seat) {
    seated_unready_ += (member.waits_for.empty() ? 0 : 1) - before;
  }
}

std::string Roster::describe_unready() const {
  std::vector<std::string> sentences;
  for (const LinkId link : in_order()) {
    const Member& member = members_.at(link);
    if (!member.waits_for.empty() && sentences.size() < kNamed) {
      sentences.push_back("node " + std::to_string(*member.seat) + " waits for " + member.waits_for);
    }
  }
  if (const auto more = static_cast<std::size_t>(seated_unready_); more > sentences.size()) {
    sentences.push_back(count_of(more - sentences.size(), "more node") + " not ready");
  }
  return join(sentences, "; ");
}

void Roster::claim(LinkId link, int seat) {
  members_.at(link).claimed_seat = seat;
  claims_[seat].insert(link);
}

void Roster::withdraw_claim(LinkId link) {
  const auto seat = std::exchange(members_.at(link).claimed_seat, std::nullopt);
  if (seat && claims_[*seat].erase(link) > 0 && claims_[*seat].empty()) {
    claims_.erase(*seat);
  }
}

std::vector<LinkId> Roster::claimants(int seat) const {
  const auto at = claims_.find(seat);
  return at == claims_.end() ? std::vector<LinkId>{} : std::vector<LinkId>(at->second.begin(), at->second.end());
}

bool Roster::is_seat_in_doubt(Instant since) const {
  return std::any_of(claims_.begin(), claims_.end(), [&](const auto& claim) {
    const auto sitting = holder(claim.first);
    return sitting && members_.at(*sitting).last_heard < since;
  });
}

std::vector<int> Roster::missing() const {
  std::vector<int> absent;
  for (std::size_t seat = 0; seat < seats_.size(); ++seat) {
    if (!seats_[seat]) {
      absent.push_back(static_cast<int>(seat));
    }
  }
  return absent;
}

std::string Roster::describe_missing(const std::vector<std::optional<std::string>>& hosts,
                                     const std::set<std::string>& unresolved, int expected) const {
  std::vector<int> never = missing();
  std::erase_if(never, [&](int seat) { return seat >= expected || departures_.contains(seat); });
  // A peer that was refused without a seat did connect.
  const std::string how = refused_.empty() ? " never connected" : " never joined";
  std::vector<std::string> sentences;
  for (const auto& [seat, departure] : departures_) {  // take_seat() removes the entry of a seat that is taken again
    if (sentences.size() < kNamed) {
      const std::string role = role_wanted_in(seat);
      sentences.push_back("node " + std::to_string(seat) + departure +
                          (role.empty() ? "" : ", and only a node with the role '" + role + "' can have its seat"));
    }
  }
  for (const auto& [name, refusal] : refused_) {
    sentences.push_back(name + refusal);
  }
  if (never.size() > kNamed) {
    sentences.insert(sentences.begin(), "nodes " + describe_ranges(never) + how);
    return join(sentences, "; ");
  }
  for (auto seat = never.rbegin(); seat != never.rend(); ++seat) {
    sentences.insert(sentences.begin(), "node " + std::to_string(*seat) + host_of(*seat, hosts, unresolved) + how);
  }
  return join(sentences, "; ");
}

// Facts that all agents must agree on: one table, and one loop over it.

namespace {

std::string text_of(const std::string& value) {
  return value;
}
std::string text_of(int value) {
  return std::to_string(value);
}
std::string text_of(const std::optional<int>& value) {
  return value ? std::to_string(*value) : "not given";
}
std::string text_of(const std::vector<RoleSize>& sizes) {
  return to_text(sizes);
}
std::string text_of(const std::vector<std::string>& names) {
  return join(names, ",");
}
std::string text_of(const std::vector<RoleEndpoints>& roles) {
  std::vector<std::string> texts;
  texts.reserve(roles.size());
  for (const RoleEndpoints& role : roles) {
    texts.push_back(role.role + "=" + join(role.endpoints, ","));
  }
  return join(texts, " ");
}

struct Fact {
  const char* name;
  bool (*is_same)(const JobFacts& one, const JobFacts& other);
  std::string (*text)(const JobFacts& facts);
  const char* advice = "";  ///< for the user, if the two texts do not explain the difference
};

template <auto kMember>
constexpr Fact fact(const char* name) {
  return {name, [](const JobFacts& one, const JobFacts& other) { return one.*kMember == other.*kMember; },
          [](const JobFacts& facts) { return text_of(facts.*kMember); }};
}

/// True for equal templates. An agent without a template digest starts no workers, so it fits any template.
bool is_same_template(const JobFacts& one, const JobFacts& other) {
  return one.template_digest.empty() || other.template_digest.empty() || one.template_digest == other.template_digest;
}

constexpr Fact kShare = {
    "part of a host", [](const JobFacts& one, const JobFacts& other) { return one.are_tasks == other.are_tasks; },
    [](const JobFacts& facts) { return std::string(facts.are_tasks ? "one process of several" : "the whole host"); },
    ": start one process for each accelerator on every host, or one for each host; give all "
    "--nproc-per-node 1 where one host is to have a single process"};

/// Names a template by the name of its mode, which all nodes know.
std::string describe_template(const JobFacts& facts) {
  return facts.mode + ", digest " + facts.template_digest;
}

constexpr auto kFacts =
    std::to_array<Fact>({fact<&JobFacts::job_id>("job"),
                         kShare,
                         fact<&JobFacts::total_slots>("number of workers in all"),
                         fact<&JobFacts::most_nodes>("number of nodes"),
                         fact<&JobFacts::least_nodes>("least number of nodes"),
                         fact<&JobFacts::mode>("mode"),
                         {"template", is_same_template, describe_template,
                          ": give all nodes the same file by --template, or for a mode that is built in the "
                          "same muster, and the same --mpi-start"},
                         fact<&JobFacts::roles>("list of roles"),
                         fact<&JobFacts::endpoints>("list of endpoints"),
                         fact<&JobFacts::success_roles>("list of roles that decide success")});

/// Returns the part of a long text that follows the common beginning, so that the difference is visible.
std::string split(const std::string& text, const std::string& other) {
  constexpr std::size_t kShown = 100;
  constexpr std::size_t kBefore = 20;
  if (text.size() <= kShown && other.size() <= kShown) {
    return text;
  }
  const auto differs = std::mismatch(text.begin(), text.end(), other.begin(), other.end()).first;
  const auto common = static_cast<std::size_t>(differs - text.begin());
  const std::size_t from = common > kBefore ? common - kBefore : 0;
  return (from > 0 ? "..." : "") + shortened(valid_utf8(text.substr(from)), kShown);
}

}  // namespace

std::string describe_difference(const JobFacts& its, const JobFacts& leaders) {
  for (const Fact& fact : kFacts) {
    if (!fact.is_same(its, leaders)) {
      const std::string here = fact.text(its);
      const std::string there = fact.text(leaders);
      return std::string("its ") + fact.name + " is '" + split(here, there) + "', the leader's is '" +
             split(there, here) + "'" + fact.advice;
    }
  }
  return {};
}

std::vector<HostPlace> find_host_places(const std::vector<std::string>& names) {
  std::map<std::string, HostPlace> hosts;
  for (const std::string& name : names) {
    const auto [at, is_new] = hosts.try_emplace(name);
    if (is_new) {
      at->second.rank = static_cast<int>(hosts.size()) - 1;
    }
    ++at->second.tasks;
  }
  std::vector<HostPlace> places;
  places.reserve(names.size());
  for (const std::string& name : names) {
    places.push_back(hosts.at(name));
    places.back().hosts = static_cast<int>(hosts.size());
  }
  return places;
}

namespace {

/// "0-3", or "GPU-5b6f, GPU-7c8d".
std::string describe_devices(const std::vector<std::string>& devices) {
  constexpr int kHighest = 1'000'000;
  std::vector<int> numbers;
  for (const std::string& device : devices) {
    if (const auto number = parse_integer(device, 0, kHighest)) {
      numbers.push_back(*number);
    }
  }
  std::ranges::sort(numbers);
  return numbers.size() == devices.size() ? describe_ranges(numbers) : join(devices, ", ");
}

}  // namespace

std::string describe_shared_devices(const std::vector<NodeFacts>& nodes) {
  std::map<std::string_view, int> nodes_of;  // by view: nearly every node has one of its own
  for (const NodeFacts& node : nodes) {
    ++nodes_of[node.device_view];
  }
  std::map<std::pair<std::string_view, std::string_view>, std::vector<int>> users;  // of a device: their node ranks
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string& view = nodes[i].device_view;
    for (std::size_t k = 0; k < nodes[i].devices.size() && !view.empty() && nodes_of[view] > 1; ++k) {
      users[{view, nodes[i].devices[k]}].push_back(static_cast<int>(i));
    }
  }
  std::vector<int> sharing;
  std::vector<std::string> shared;
  for (const auto& [device, ranks] : users) {
    if (ranks.size() > 1 && (sharing.empty() || ranks == sharing)) {
      sharing = ranks;
      shared.emplace_back(device.second);
    }
  }
  if (shared.empty()) {
    return {};
  }
  return "nodes " + describe_ranges(sharing) + " are on one host, " +
         nodes[static_cast<std::size_t>(sharing.front())].host + ", and their workers are given the same " +
         (shared.size() == 1 ? "device " : "devices ") + describe_devices(shared) +
         ": start one muster on each host, or give each its own devices by --devices";
}

std::vector<RoleSlots> find_role_slots(const std::vector<NodeFacts>& nodes) {
  std::map<std::string, int> slots;
  std::vector<RoleSlots> found;
  for (const NodeFacts& node : nodes) {
    int& so_far = slots[node.role_name];
    found.push_back({so_far, 0});
    so_far += node.slots;
  }
  if (slots.size() < 2) {
    return {};
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    found[i].total = slots.at(nodes[i].role_name);
  }
  return found;
}

}  // namespace muster::gang
