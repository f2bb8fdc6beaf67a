// Deals mpirun's processes to the slots of hosts.
#include "platforms/host_filling.hpp"

#include "platforms/platform.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace muster {
namespace {

using GivenHosts = Sourced<std::vector<GivenHost>>;

/// A number of processes for each host, whatever the list says of it.
Result<> count_per_host(GivenHosts& listed, const Sourced<std::string>& count, bool may_exceed) {
  const auto number = parse_integer(count.value, 1, kMostWorkers);
  if (!number) {
    return wrong_value(count, "a number of processes of at least 1");
  }
  for (GivenHost& host : listed.value) {
    if (host.slots && *number > *host.slots && !may_exceed) {
      return wrong_value(count,
                         "at most " + std::to_string(*host.slots) + ", the slots of '" + host.host +
                             "', or --oversubscribe");
    }
    host.slots = *number;
  }
  return {};
}

/// Hosts of which nothing is said share the processes evenly.
void share_evenly(GivenHosts& listed, int processes) {
  const auto hosts = static_cast<int>(listed.value.size());
  for (int i = 0; i < hosts; ++i) {
    listed.value[static_cast<std::size_t>(i)].slots =
        processes / hosts + (i < processes % hosts ? 1 : 0);
  }
}

/// What is left when each host has its slots full.
int fill(GivenHosts& listed, int processes) {
  for (GivenHost& host : listed.value) {
    host.slots = std::min(*host.slots, processes);
    processes -= *host.slots;
  }
  return processes;
}

Result<> deal(GivenHosts& listed, const Sourced<std::string>& count, const Settings& settings) {
  const auto number = parse_integer(count.value, 1, kMostWorkers);
  if (!number) {
    return wrong_value(count, "a number of processes from 1 to " + std::to_string(kMostWorkers));
  }
  const auto silent = std::count_if(
      listed.value.begin(), listed.value.end(), [](const GivenHost& host) { return !host.slots; });
  if (silent == static_cast<std::ptrdiff_t>(listed.value.size())) {
    share_evenly(listed, *number);
    return {};
  }
  if (silent > 0) {
    return wrong_value(count,
                       "a number of slots at each host of " + listed.source.name + ", or at none");
  }
  const int left = fill(listed, *number);
  if (left > 0 && !settings.has(kMayOversubscribe)) {
    return wrong_value(count,
                       "at most " + std::to_string(*number - left) + ", the slots of " +
                           listed.source.name + or_oversubscribe(settings));
  }
  for (int i = 0; i < left; ++i) {
    ++*listed.value[static_cast<std::size_t>(i) % listed.value.size()].slots;
  }
  return {};
}

/// mpirun deals them itself: each host keeps what it has, and one of which nothing is said may have all.
Result<> leave_to_mpirun(GivenHosts& listed, const Sourced<std::string>& count, bool may_exceed) {
  const auto number = parse_integer(count.value, 1, kMostWorkers);
  if (!number) {
    return wrong_value(count, "a number of processes from 1 to " + std::to_string(kMostWorkers));
  }
  int slots = 0;
  for (GivenHost& host : listed.value) {
    host.slots = host.slots.value_or(*number);
    slots += *host.slots;
  }
  return *number <= slots || may_exceed
             ? Result<>()
             : wrong_value(count,
                           "at most " + std::to_string(slots) + ", the slots of " +
                               listed.source.name + ", or --oversubscribe");
}

}  // namespace

std::string or_oversubscribe(const Settings& settings) {
  const auto mode = settings.find("mode");
  return mode && mode->value == "mpirun" ? ", or --oversubscribe" : "";
}

Result<GivenHosts> fill_hosts(GivenHosts listed, const Settings& settings) {
  const bool may_exceed = settings.has(kMayOversubscribe);
  if (const auto per_host = settings.find(kProcessesPerHost)) {
    if (auto counted = count_per_host(listed, *per_host, may_exceed); !counted) {
      return counted.error();
    }
  }
  const auto processes = settings.find(kProcessesOfHosts);
  if (processes && settings.has(kDealtByMpirun)) {
    auto left = leave_to_mpirun(listed, *processes, may_exceed);
    return left ? Result<GivenHosts>(std::move(listed)) : left.error();
  }
  if (processes) {
    if (auto dealt = deal(listed, *processes, settings); !dealt) {
      return dealt.error();
    }
    std::erase_if(listed.value, [](const GivenHost& host) { return host.slots == 0; });
  }
  return listed;
}

}  // namespace muster
