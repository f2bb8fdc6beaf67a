// Checks whether all pods of a gang fit into a cluster, and parses quantities. The pods are alike, so each node takes
// as many as it can, and the order does not matter.
#include "render/check_fit.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace muster::render {

// Parses quantities. Source: kubernetes.io, "Quantity" (k8s.io/apimachinery/pkg/api/resource).

namespace {

/// Wide enough for the largest number times the largest unit.
__extension__ using Wide = unsigned __int128;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// A unit of 10^exponent or 2^exponent.
struct Suffix {
  std::string_view text;
  int base;
  int exponent;
};

constexpr auto kSuffixes = std::to_array<Suffix>({
    {"", 10, 0},
    {"n", 10, -9},
    {"u", 10, -6},
    {"m", 10, -3},
    {"k", 10, 3},
    {"M", 10, 6},
    {"G", 10, 9},
    {"T", 10, 12},
    {"P", 10, 15},
    {"E", 10, 18},
    {"Ki", 2, 10},
    {"Mi", 2, 20},
    {"Gi", 2, 30},
    {"Ti", 2, 40},
    {"Pi", 2, 50},
    {"Ei", 2, 60},
});

/// Reads an exponent such as "e3" or "E-2".
std::optional<Suffix> read_exponent(std::string_view text) {
  constexpr int kMostDigits = 99;
  if (text.size() < 2 || (text.front() != 'e' && text.front() != 'E')) {
    return std::nullopt;
  }
  text.remove_prefix(1);
  const bool is_negative = text.front() == '-';
  text.remove_prefix(is_negative || text.front() == '+' ? 1 : 0);
  const auto exponent = parse_integer(text, 0, kMostDigits);
  return exponent ? std::optional(Suffix{"", 10, is_negative ? -*exponent : *exponent}) : std::nullopt;
}

std::optional<Suffix> read_suffix(std::string_view text) {
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.text == text) {
      return suffix;
    }
  }
  return read_exponent(text);
}

/// A number times 10^-decimals; its arithmetic is exact up to overflow.
struct Scaled {
  Wide digits = 0;
  int decimals = 0;

  bool multiply(unsigned factor) {
    if (digits > static_cast<Wide>(kMost)) {
      return false;
    }
    digits *= factor;
    return true;
  }
};

std::int64_t in_thousandths(Scaled number, const Suffix& suffix) {
  constexpr unsigned kTen = 10;
  int shift = 3 - number.decimals + (suffix.base == kTen ? suffix.exponent : 0);
  for (int i = 0; suffix.base == 2 && i < suffix.exponent; ++i) {
    if (!number.multiply(2)) {
      return kMost;
    }
  }
  for (; shift > 0 && number.digits != 0; --shift) {
    if (!number.multiply(kTen)) {
      return kMost;
    }
  }
  for (; shift < 0 && number.digits > 1; ++shift) {
    number.digits = (number.digits + kTen - 1) / kTen;
  }
  return number.digits > static_cast<Wide>(kMost) ? kMost : static_cast<std::int64_t>(number.digits);
}

/// Appends digits; those that no longer fit only change the scale.
void append(Scaled& number, std::string_view digits, bool are_decimals) {
  for (const char c : digits) {
    const bool fits = number.multiply(10);
    number.digits += fits ? static_cast<unsigned>(c - '0') : 0U;
    number.decimals += (fits && are_decimals ? 1 : 0) - (!fits && !are_decimals ? 1 : 0);
  }
}

/// Takes digits with at most one point from the front of the text.
std::optional<Scaled> take_number(std::string_view& text) {
  text.remove_prefix(text.starts_with('+') ? 1 : 0);
  const std::string_view all = text.substr(0, text.find_first_not_of("0123456789."));
  text.remove_prefix(all.size());
  const std::size_t point = std::min(all.find('.'), all.size());
  const std::string_view decimals = all.substr(std::min(point + 1, all.size()));
  if (decimals.find('.') != std::string_view::npos || point + decimals.size() == 0) {
    return std::nullopt;
  }
  Scaled number;
  append(number, all.substr(0, point), false);
  append(number, decimals, true);
  return number;
}

}  // namespace

std::optional<std::int64_t> parse_quantity(std::string_view text) {
  const auto number = take_number(text);
  const auto suffix = number ? read_suffix(text) : std::nullopt;
  return suffix ? std::optional(in_thousandths(*number, *suffix)) : std::nullopt;
}

namespace {

constexpr std::int64_t kOne = 1000;  // thousandths
constexpr const char* kPods = "pods";

std::int64_t amount_of(const Amounts& amounts, std::string_view resource) {
  const auto at = amounts.find(resource);
  return at == amounts.end() ? 0 : at->second;
}

Amounts amounts_of(const PodNeeds& needs) {
  Amounts amounts = {{kPods, kOne}};
  if (needs.devices > 0) {
    amounts[needs.device_resource] = needs.devices * kOne;
  }
  std::vector<NamedText> others = needs.resources;
  others.push_back({"cpu", requested_cpus(needs)});
  others.push_back({"memory", requested_memory(needs)});
  for (const NamedText& one : others) {
    amounts[one.name] = parse_quantity(one.value).value_or(0);
  }
  return amounts;
}

bool is_tolerated(const Taint& taint, const std::vector<Toleration>& tolerations) {
  if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") {
    return true;  // only a preference
  }
  return std::ranges::any_of(tolerations, [&](const Toleration& one) {
    return one.key == taint.key && (one.value.empty() || one.value == taint.value) &&
           (one.effect.empty() || one.effect == taint.effect);
  });
}

/// The reason why no pod of the gang may run on the node; empty: pods may.
std::string obstacle_of(const Node& node, const PodNeeds& needs) {
  if (!node.is_ready) {
    return "not ready";
  }
  if (node.is_unschedulable) {
    return "unschedulable";
  }
  for (const Taint& taint : node.taints) {
    if (!is_tolerated(taint, needs.tolerations)) {
      return "tainted with " + one_line(taint.key, 80) + ":" + one_line(taint.effect, 80);
    }
  }
  const bool has_labels = std::ranges::all_of(needs.node_selector, [&](const auto& wanted) {
    const auto at = node.labels.find(wanted.first);
    return at != node.labels.end() && at->second == wanted.second;
  });
  return has_labels ? "" : "without the labels that were asked for";
}

/// Number of times that a need fits into free amounts, and the resource that is short for one more.
struct Capacity {
  std::int64_t times = std::numeric_limits<std::int64_t>::max();
  std::string lacks;
};

Capacity room_in(const Amounts& free, const Amounts& need) {
  Capacity room;
  for (const auto& [resource, amount] : need) {
    const std::int64_t times = amount > 0 ? amount_of(free, resource) / amount : room.times;
    if (times < room.times) {
      room = {times, resource};
    }
  }
  return room;
}

/// Free amounts of a node for the needed resources, at least 0.
Amounts free_of(const Node& node, const PodUse* taken, const Amounts& need) {
  Amounts free;
  for (const auto& [resource, unused] : need) {
    const std::int64_t all = amount_of(node.allocatable, resource);
    const std::int64_t used = taken == nullptr    ? 0
                              : resource == kPods ? taken->pods * kOne
                                                  : amount_of(taken->amounts, resource);
    free[resource] = std::max<std::int64_t>(all - used, 0);
  }
  return free;
}

/// The results of visiting all nodes.
struct Survey {
  std::int64_t room = 0;                 ///< pods that fit now
  std::int64_t empty_room = 0;           ///< pods that would fit if nothing else ran
  Amounts largest;                       ///< per resource, the largest free amount on one node
  std::map<std::string, int> obstacles;  ///< number of nodes by the reason that excludes them
  std::map<std::string, int> lacking;    ///< number of nodes without room by the resource that is short
};

Survey survey(const ClusterState& state, const PodNeeds& needs, const Amounts& need) {
  Survey result;
  for (const Node& node : state.nodes) {
    if (const std::string obstacle = obstacle_of(node, needs); !obstacle.empty()) {
      ++result.obstacles[obstacle];
      continue;
    }
    const auto taken = state.taken.find(node.name);
    const Amounts free = free_of(node, taken == state.taken.end() ? nullptr : &taken->second, need);
    const Capacity room = room_in(free, need);
    result.room += room.times;
    result.empty_room += room_in(free_of(node, nullptr, need), need).times;
    if (room.times == 0) {
      ++result.lacking[room.lacks];
    }
    for (const auto& [resource, amount] : free) {
      std::int64_t& most = result.largest[resource];
      most = std::max(most, amount - room.times * need.at(resource));
    }
  }
  return result;
}

/// "512Gi", or digits for an amount that is not round.
std::string in_words(std::string_view resource, std::int64_t thousandths) {
  constexpr std::int64_t kGibi = kOne << 30U;
  if (resource != "memory") {
    const std::string rest = std::to_string(kOne + thousandths % kOne).substr(1);
    return std::to_string(thousandths / kOne) +
           (thousandths % kOne == 0 ? "" : "." + rest.substr(0, rest.find_last_not_of('0') + 1)) + " " +
           std::string(resource);
  }
  return (thousandths >= kGibi ? std::to_string(thousandths / kGibi) + "Gi"
                               : std::to_string(thousandths / (kOne << 20U)) + "Mi") +
         " memory";
}

/// "8 nvidia.com/gpu, 16 cpu, 512Gi memory".
std::string describe(const PodNeeds& needs) {
  std::vector<std::string> words;
  if (needs.devices > 0) {
    words.push_back(std::to_string(needs.devices) + " " + needs.device_resource);
  }
  if (!needs.cpus.empty()) {
    words.push_back(needs.cpus + " cpu");
  }
  if (!needs.memory.empty()) {
    words.push_back(needs.memory + " memory");
  }
  return words.empty() ? "" : " with " + join(words, ", ");
}

/// The resource that people check first: accelerators, else CPUs, else memory.
std::string main_resource(const PodNeeds& needs) {
  return needs.devices > 0       ? needs.device_resource
         : !needs.cpus.empty()   ? "cpu"
         : !needs.memory.empty() ? "memory"
                                 : kPods;
}

std::string nodes_are(int count, const std::string& what) {
  return count_of(static_cast<std::size_t>(count), "node") + (count == 1 ? " is " : " are ") + what;
}

std::string first_sentence(const Fit& fit, const PodNeeds& needs, const Survey& seen) {
  const std::string share = std::to_string(fit.fitting) + " of " + std::to_string(fit.wanted) + " fit";
  if (fit.fitting == fit.wanted) {
    return share + "; there is room for " + std::to_string(seen.room) + "\n";
  }
  const int missing = fit.wanted - fit.fitting;
  const std::string resource = main_resource(needs);
  return share + ": " + count_of(static_cast<std::size_t>(missing), "pod") + describe(needs) +
         (missing == 1 ? " is" : " are") + " missing; largest free node has " +
         in_words(resource, amount_of(seen.largest, resource)) + "\n";
}

/// Counts the waiting pods that need the same resource, since they may be scheduled first.
std::size_t count_rivals(const ClusterState& state, const PodNeeds& needs) {
  const std::string resource = main_resource(needs);
  return static_cast<std::size_t>(std::ranges::count_if(
      state.waiting, [&](const Amounts& one) { return resource == kPods || amount_of(one, resource) > 0; }));
}

std::string further_sentences(const Fit& fit, const ClusterState& state, const Survey& seen) {
  std::string text;
  for (const auto& [obstacle, count] : seen.obstacles) {
    text += "  " + nodes_are(count, obstacle) + "\n";
  }
  for (const auto& [resource, count] : seen.lacking) {
    text += "  " + nodes_are(count, "short of " + resource) + "\n";
  }
  if (fit.fitting < fit.wanted && seen.empty_room < fit.wanted) {
    text += "  even if nothing else ran, " + std::to_string(seen.empty_room) + " would fit\n";
  }
  if (!state.has_pods) {
    text += "  no pods were given: what others take is not subtracted\n";
  }
  return text;
}

}  // namespace

Fit check_fit(const ClusterState& state, const PodNeeds& needs, int wanted) {
  const Survey seen = survey(state, needs, amounts_of(needs));
  Fit fit;
  fit.wanted = wanted;
  fit.fitting = static_cast<int>(std::min<std::int64_t>(seen.room, wanted));
  fit.sentences = first_sentence(fit, needs, seen) + further_sentences(fit, state, seen);
  if (const std::size_t rivals = count_rivals(state, needs); rivals > 0) {
    fit.sentences += "  " + count_of(rivals, "other pod") + (rivals == 1 ? " waits" : " wait") + " for " +
                     main_resource(needs) + ", too\n";
  }
  return fit;
}

}  // namespace muster::render
