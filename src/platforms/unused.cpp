// Looks for what speaks of nodes and made no decision: what explain shows below its table.
#include "platforms/unused.hpp"

#include "platforms/hosts.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>

namespace muster {
namespace {

/// Besides those: what says where this process is, and where it meets others.
constexpr std::array<const char*, 11> kBareNames = {"RANK",
                                                    "WORLD_SIZE",
                                                    "LOCAL_RANK",
                                                    "LOCAL_WORLD_SIZE",
                                                    "NODE_RANK",
                                                    "GROUP_RANK",
                                                    "MASTER_ADDR",
                                                    "MASTER_IP",
                                                    "MASTER_PORT",
                                                    "NPROC_PER_NODE",
                                                    "TF_CONFIG"};

/// Why a platform that names such a variable was not asked.
std::string why_not(const Platform& owner, const Choice& choice, const Snapshot& snapshot) {
  const std::string whose = std::string(owner.name) + "'s";
  if (choice.platform == &owner) {
    return whose + ", and it has something better";
  }
  if (!owner.find_sign(snapshot)) {
    return whose + ", but " + owner.signs + " is not set";
  }
  if (choice.platform == nullptr && choice.name.empty()) {
    return whose + (is_already_worker(snapshot) ? ", and speaks of the job whose worker this is"
                                                : ", and this mode asks for no list of tasks");
  }
  const std::string winner = choice.platform == nullptr ? choice.name : choice.platform->name;
  return whose + (choice.name.empty() ? ", and " + winner + " is more specific"
                                      : ", and " + choice.source.name + " says " + choice.name);
}

std::string why_not(const Sourced<std::string>& text,
                    const Platform* owner,
                    const Choice& choice,
                    const Snapshot& snapshot) {
  if (owner != nullptr) {
    return why_not(*owner, choice, snapshot);
  }
  const bool is_bare =
      std::find(kBareNames.begin(), kBareNames.end(), text.source.name) != kBareNames.end();
  if (!is_bare) {
    return "of no platform that muster knows";
  }
  return choice.platform == nullptr
             ? "alone it says nothing"
             : std::string(choice.platform->name) + " has names of its own for what it needs";
}

/// The names in the source of a decision, which may join several: "VC_PS_NUM+VC_WORKER_NUM".
void add_names(std::set<std::string, std::less<>>& names, const std::string& source) {
  std::string name;
  for (const char c : source + " ") {
    const bool is_of_a_name = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                              std::string_view("_/.-").find(c) != std::string_view::npos;
    if (is_of_a_name) {
      name += c;
    } else {
      names.insert(std::exchange(name, ""));
    }
  }
}

}  // namespace

std::vector<UnusedValue> find_unused(const std::vector<Decision>& decisions,
                                     const std::vector<UnusedValue>& lost,
                                     const Choice& choice,
                                     const Counters& counters) {
  const Snapshot& snapshot = counters.snapshot;
  std::set<std::string, std::less<>> used;
  for (const Decision& decision : decisions) {
    add_names(used, decision.source);
  }
  for (const UnusedValue& other : lost) {
    add_names(used, other.seen.source.name);
  }
  std::vector<UnusedValue> unused;
  const auto add = [&](const Sourced<std::string>& text, const Platform* owner) {
    if (used.insert(text.source.name).second) {
      unused.push_back({"", text, why_not(text, owner, choice, snapshot)});
    }
  };
  for (const Counter& counter : counters.all) {
    add(counter.text, counter.owner);
  }
  const auto add_variable = [&](const std::string& name, const Platform* owner) {
    if (const auto text = sourced_variable(snapshot, name)) {
      add({shortened(text->value), text->source}, owner);
    }
  };
  for (const Platform* const platform : platforms()) {
    add_variable(platform->find_sign(snapshot).value_or(""), platform);
  }
  for (const char* const name : kBareNames) {
    add_variable(name, nullptr);
  }
  return unused;
}

std::vector<UnusedValue> seen_of_nodes(const Snapshot& snapshot, const std::string& why) {
  std::vector<UnusedValue> seen = find_unused({}, {}, Choice{}, find_counters(snapshot));
  for (UnusedValue& lost : seen) {
    lost.why = why;
  }
  return seen;
}

}  // namespace muster
