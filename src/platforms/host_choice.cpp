// DeepSpeed's --include and --exclude. Source: deepspeed/launcher/runner.py, parse_resource_filter.
#include "platforms/platform.hpp"

#include "base/text.hpp"
#include "platforms/given_hosts.hpp"

#include <algorithm>
#include <numeric>

namespace muster {
namespace {

using Text = Sourced<std::string>;

constexpr std::string_view kChoiceForm = "hosts and their devices such as a@b:0,2";

Result<ChosenHost> read_chosen(const std::string& word, const Text& text) {
  const std::size_t colon = word.find(':');
  ChosenHost chosen{word.substr(0, colon), {}};
  if (chosen.host.empty()) {
    return wrong_value(text, kChoiceForm);
  }
  if (colon == std::string::npos) {
    return chosen;
  }
  for (const std::string& piece : split(word.substr(colon + 1), ',')) {
    const auto device = parse_integer(trim(piece), 0, kMostWorkers);
    if (!device) {
      return wrong_value(text, kChoiceForm);
    }
    chosen.devices.push_back(*device);
  }
  return chosen.devices.empty() ? Result<ChosenHost>(wrong_value(text, kChoiceForm)) : chosen;
}

/// A host that is named again has more devices.
void add(std::vector<ChosenHost>& all, const ChosenHost& chosen) {
  auto at = std::find_if(
      all.begin(), all.end(), [&](const ChosenHost& one) { return one.host == chosen.host; });
  if (at == all.end()) {
    at = all.insert(all.end(), {chosen.host, {}});
  }
  std::vector<int>& devices = at->devices;
  devices.insert(devices.end(), chosen.devices.begin(), chosen.devices.end());
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
}

/// With slots as with devices: numbers from 0.
Result<> check_devices(const ChosenHost& chosen, const GivenHost& host, const Text& text) {
  const bool is_known =
      chosen.devices.empty() || !host.slots || chosen.devices.back() < *host.slots;
  return is_known ? Result<>()
                  : wrong_value(text,
                                "devices below " + std::to_string(*host.slots) +
                                    ", the slots of '" + host.host + "'");
}

Result<> check_listed(const std::vector<ChosenHost>& all,
                      const std::vector<GivenHost>& hosts,
                      const Text& text) {
  for (const ChosenHost& chosen : all) {
    const auto host = std::find_if(hosts.begin(), hosts.end(), [&](const GivenHost& listed) {
      return listed.host == chosen.host;
    });
    if (host == hosts.end()) {
      return wrong_value(text, "hosts of the list, and '" + chosen.host + "' is none");
    }
    if (auto checked = check_devices(chosen, *host, text); !checked) {
      return checked;
    }
  }
  return {};
}

void use(GivenHost& host, std::vector<int> devices) {
  host.slots = static_cast<int>(devices.size());
  host.devices = std::move(devices);
}

/// False: nothing of the host is left.
bool include(GivenHost& host, const ChosenHost* chosen) {
  if (chosen != nullptr && !chosen->devices.empty()) {
    use(host, chosen->devices);
  }
  return chosen != nullptr;
}

bool exclude(GivenHost& host, const ChosenHost* chosen) {
  if (chosen == nullptr) {
    return true;
  }
  std::vector<int> left(
      static_cast<std::size_t>(chosen->devices.empty() ? 0 : host.slots.value_or(0)));
  std::iota(left.begin(), left.end(), 0);
  std::erase_if(left, [&](int device) {
    return std::find(chosen->devices.begin(), chosen->devices.end(), device) !=
           chosen->devices.end();
  });
  if (!left.empty()) {
    use(host, left);
  }
  return !left.empty();
}

}  // namespace

Result<std::vector<ChosenHost>> read_host_choice(const Sourced<std::string>& text) {
  std::vector<ChosenHost> all;
  for (const std::string& word : split(text.value, '@')) {
    const auto chosen = read_chosen(word, text);
    if (!chosen) {
      return chosen.error();
    }
    add(all, *chosen);
  }
  return all.empty() ? Result<std::vector<ChosenHost>>(wrong_value(text, kChoiceForm)) : all;
}

Result<Sourced<std::vector<GivenHost>>> choose_hosts(Sourced<std::vector<GivenHost>> listed,
                                                     const Settings& settings) {
  const auto included = settings.find(kIncludedHosts);
  const auto excluded = settings.find(kExcludedHosts);
  if (included && excluded) {
    return contradiction(*included, *excluded, "one of them chooses the hosts");
  }
  if (!included && !excluded) {
    return listed;
  }
  const Text& text = included ? *included : *excluded;
  const auto all = read_host_choice(text);
  if (!all) {
    return all.error();
  }
  if (auto checked = check_listed(*all, listed.value, text); !checked) {
    return checked.error();
  }
  std::erase_if(listed.value, [&](GivenHost& host) {
    const auto at = std::find_if(
        all->begin(), all->end(), [&](const ChosenHost& one) { return one.host == host.host; });
    const ChosenHost* const chosen = at == all->end() ? nullptr : &*at;
    return included ? !include(host, chosen) : !exclude(host, chosen);
  });
  return listed.value.empty() ? Result<Sourced<std::vector<GivenHost>>>(
                                    wrong_value(text, "a choice that leaves a host"))
                              : listed;
}

}  // namespace muster
