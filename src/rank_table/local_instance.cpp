// Finds a node's instance in a table, and the devices of that instance.
#include "rank_table/local_instance.hpp"

#include "base/text.hpp"
#include "environment/local_host.hpp"
#include "rank_table/layout.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace muster::rank_table {
namespace {

/// The settings that select a node's part of a server.
constexpr std::string_view kSlotSources = "(--nproc-per-node or ASCEND_VISIBLE_DEVICES does)";

/// Indices of matching instances in the table.
using Places = std::vector<std::size_t>;

template <typename Condition>
Places find_all(const Table& table, const Condition& condition) {
  Places places;
  for (std::size_t i = 0; i < table.instances.size(); ++i) {
    if (condition(table.instances[i])) {
      places.push_back(i);
    }
  }
  return places;
}

bool has_pod_name(const Instance& instance, const std::string& name) {
  return instance.pod_name == name;
}

bool has_address(const Instance& instance, const std::string& address) {
  const auto is_it = [&](const std::string& other) { return other == address || is_same_address(other, address); };
  return is_it(instance.server_id) || std::ranges::any_of(instance.addresses, is_it);
}

int lowest_rank(const Instance& instance) {
  const auto least = [](int rank, const Device& device) { return std::min(rank, device.rank); };
  const auto& devices = instance.devices;
  return std::accumulate(devices.begin(), devices.end(), std::numeric_limits<int>::max(), least);
}

/// Indices of the instances, sorted by their lowest ranks, because the order of the list has no meaning.
Places servers_by_rank(const Table& table) {
  Places places(table.instances.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, {}, [&](std::size_t place) { return lowest_rank(table.instances[place]); });
  return places;
}

/// True where pods of several groups count each from 0, so that a number alone is ambiguous.
bool has_several_groups(const Table& table) {
  const auto group_of = [](const Instance& instance) {
    const std::string_view name = instance.pod_name;
    return name.substr(0, name.rfind('-'));
  };
  const auto& instances = table.instances;
  const bool are_numbered = std::ranges::all_of(
      instances, [](const Instance& instance) { return pod_number(instance.pod_name).has_value(); });
  return are_numbered && std::ranges::any_of(instances, [&](const auto& other) {
           return group_of(other) != group_of(instances.front());
         });
}

std::optional<std::size_t> holder_of(const Table& table, int rank) {
  const auto has_rank = [&](const Instance& instance) {
    return std::ranges::any_of(instance.devices, [&](const Device& device) { return device.rank == rank; });
  };
  const Places places = find_all(table, has_rank);
  return places.empty() ? std::nullopt : std::optional(places.front());
}

/// Collects the attempts for the error message.
class Search {
 public:
  explicit Search(const Table& table) : table_(table) {}

  /// `matches` compares an instance with a name.
  template <typename Matches>
  std::optional<std::size_t> by_names(const std::vector<Sourced<std::string>>& names, const Matches& matches) {
    for (const auto& name : names) {
      const auto is_it = [&](const Instance& instance) { return matches(instance, name.value); };
      if (const auto found = judge(name.source.name + " '" + name.value + "'", is_it)) {
        return found;
      }
    }
    return std::nullopt;
  }

  std::optional<std::size_t> by_index(const OwnNames& own) {
    if (!own.index) {
      return std::nullopt;
    }
    if (has_several_groups(table_)) {
      return by_count(own);
    }
    const auto index = static_cast<std::uint64_t>(own.index->value);
    return judge(index_text(own), [&](const Instance& instance) { return pod_number(instance.pod_name) == index; });
  }

  /// In a table without names, nodes follow the order of ranks, whatever the order of the servers.
  std::optional<std::size_t> by_ranks(const OwnNames& own) {
    if (!own.index) {
      return std::nullopt;
    }
    const auto index = static_cast<std::size_t>(own.index->value);
    const auto nodes = static_cast<std::size_t>(own.nodes);
    if (table_.instances.size() == nodes && index < nodes) {
      return servers_by_rank(table_)[index];
    }
    if (const auto found = own.slots ? holder_of(table_, own.index->value * *own.slots) : std::nullopt) {
      return found;
    }
    tried_.push_back(index_text(own) + (nodes == 0 ? "" : " of " + count_of(nodes, "node")) +
                     (own.slots ? "" : ", nobody says with how many workers each " + std::string(kSlotSources)));
    return std::nullopt;
  }

  std::string tried() const {
    return tried_.empty() ? "nothing says which pod this is" : "tried " + join(tried_, ", ");
  }

 private:
  /// Nodes follow the order of ranks over all groups.
  std::optional<std::size_t> by_count(const OwnNames& own) {
    const Places places = servers_by_rank(table_);
    const auto index = static_cast<std::size_t>(own.index->value);
    if (index < places.size()) {
      return places[index];
    }
    tried_.push_back(index_text(own) + " of " + count_of(places.size(), "pod"));
    return std::nullopt;
  }

  static std::string index_text(const OwnNames& own) {
    return "index " + std::to_string(own.index->value) + " (" + own.index->source.name + ")";
  }

  /// The index of the matching instance if there is exactly one.
  template <typename Condition>
  std::optional<std::size_t> judge(const std::string& what, const Condition& condition) {
    const Places places = find_all(table_, condition);
    if (places.size() == 1) {
      return places.front();
    }
    tried_.push_back(what + (places.empty() ? "" : ", which " + std::to_string(places.size()) + " have"));
    return std::nullopt;
  }

  const Table& table_;
  std::vector<std::string> tried_;
};

/// "job-worker-0 on 10.0.0.1, job-worker-1 on 10.0.0.2"; a large table is shortened.
std::string describe_instances(const Table& table) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> texts;
  for (const Instance& instance : table.instances) {
    if (texts.size() == kMost) {
      texts.push_back("and " + std::to_string(table.instances.size() - kMost) + " more");
      break;
    }
    texts.push_back(instance.pod_name.empty() ? instance.server_id : instance.pod_name + " on " + instance.server_id);
  }
  return texts.empty() ? "no instance" : join(texts, ", ");
}

}  // namespace

OwnNames own_names(const Snapshot& snapshot) {
  OwnNames own;
  const auto add = [](std::vector<Sourced<std::string>>& names, const std::optional<Sourced<std::string>>& name) {
    const bool is_known = !name || name->value.empty() ||
                          std::ranges::any_of(names, [&](const auto& other) { return other.value == name->value; });
    if (!is_known) {
      names.push_back(*name);
    }
  };
  for (const char* const name : {"MA_CURRENT_INSTANCE_NAME", "BATCH_TASK_CURRENT_INSTANCE", "POD_NAME", "HOSTNAME"}) {
    add(own.pods, sourced_variable(snapshot, name));
  }
  add(own.pods, Sourced<std::string>{snapshot.host_name, {SourceKind::File, "host name"}});
  for (const char* const name : {"MA_CURRENT_HOST_IP", "MA_CURRENT_IP", "POD_IP", "HOST_IP"}) {
    add(own.addresses, sourced_variable(snapshot, name));
  }
  for (const std::string& address : snapshot.addresses.get()) {
    add(own.addresses, Sourced<std::string>{address, {SourceKind::File, "own address"}});
  }
  return own;
}

bool has_pod_names(const Table& table) {
  return std::ranges::any_of(table.instances, [](const Instance& instance) { return !instance.pod_name.empty(); });
}

Result<std::size_t> find_instance(const TableFile& file, const OwnNames& own) {
  Search search(file.table);
  const bool has_names = has_pod_names(file.table);
  auto found = has_names ? search.by_names(own.pods, has_pod_name) : std::nullopt;
  found = found || !has_names ? found : search.by_index(own);
  found = found ? found : search.by_names(own.addresses, has_address);
  found = found || has_names ? found : search.by_ranks(own);
  if (found) {
    return *found;
  }
  return Error{ErrorKind::BadData, "the rank table '" + file.path + "' does not list this node: " + search.tried() +
                                       "; it has " + describe_instances(file.table) +
                                       (own.index ? "" : "; --node-rank says which of them this is")};
}

std::vector<Device> devices_of(const Table& table, std::size_t instance, const std::vector<int>& ranks) {
  std::vector<Device> devices = table.instances[instance].devices;
  if (ranks.empty()) {
    return devices;
  }
  const std::size_t before =
      std::accumulate(table.instances.begin(), table.instances.begin() + static_cast<std::ptrdiff_t>(instance),
                      std::size_t{0}, [](std::size_t sum, const Instance& one) { return sum + one.devices.size(); });
  for (std::size_t i = 0; i < devices.size(); ++i) {
    devices[i].rank = ranks[before + i];
  }
  return devices;
}

}  // namespace muster::rank_table
