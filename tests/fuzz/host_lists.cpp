// Any text as each form of a list of hosts. What is read must be few enough, and names of hosts.
#include "platforms/host_lists.hpp"

#include "fuzz.hpp"

namespace muster::fuzz {
namespace {

/// Refused for a reason that has a code, or else `check` holds.
template <typename List, typename Check>
void check_list(const Result<List>& list, Check check) {
  if (!list) {
    require(list.error().exit_code() == 78, "a variable is the environment's fault");
    require(!list.error().message.empty(), "an error says something");
    return;
  }
  require(!list->value.empty() && list->value.size() <= kMostNodes, "neither none nor too many");
  check(*list);
}

void check_names(const HostList& hosts) {
  for (const std::string& host : hosts.value) {
    require(read_address({host, {}}).has_value(), "each is the name of a host");
  }
}

void check_slots(const SlotList& list) {
  check_names(hosts_of(list));
  for (const HostSlots& host : list.value) {
    require(!host.slots || (*host.slots >= 1 && *host.slots <= kMostWorkers), "slots are counted");
  }
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const Sourced<std::string> text{std::string(fuzz::text_of(data, size)), from_variable("LIST")};
  fuzz::check_list(read_host_list(text), fuzz::check_names);
  fuzz::check_list(read_slurm_list(text), fuzz::check_names);
  fuzz::check_list(read_tasks_per_node(text),
                   [](const auto& tasks) { fuzz::require(tasks.value.front() >= 1, "a node has a task"); });
  for (const auto reader : {read_hosts_with_slots, read_hostfile, read_node_file, read_host_pairs}) {
    fuzz::check_list(reader(text), fuzz::check_slots);
  }
  return 0;
}
