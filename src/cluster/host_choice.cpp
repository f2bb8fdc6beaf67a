// DeepSpeed's --include and --exclude. Source: deepspeed/launcher/runner.py, parse_resource_filter.
#include "host_choice.hpp"

#include "platform.hpp"

#include <muster/base/text.hpp>

#include <algorithm>
#include <numeric>

namespace muster {
namespace {

using Text = Sourced<std::string>;

constexpr std::string_view kForm = "hosts and their devices such as a@b:0,2";

/// One of the named hosts, and the devices behind its colon; empty: all.
struct Named {
  std::string host;
  std::vector<int> devices;
};

Result<Named> read_named(const std::string& word, const Text& text) {
  const std::size_t colon = word.find(':');
  Named named{word.substr(0, colon), {}};
  if (named.host.empty()) {
    return wrong_value(text, kForm);
  }
  if (colon == std::string::npos) {
    return named;
  }
  for (const std::string& piece : split(word.substr(colon + 1), ',')) {
    const auto device = parse_integer(piece, 0, kMostWorkers);
    if (!device) {
      return wrong_value(text, kForm);
    }
    named.devices.push_back(*device);
  }
  return named.devices.empty() ? Result<Named>(wrong_value(text, kForm)) : named;
}

/// With slots as with devices: numbers from 0.
Result<> check_devices(const Named& named, const GivenHost& host, const Text& text) {
  const auto most = std::max_element(named.devices.begin(), named.devices.end());
  const bool is_known = most == named.devices.end() || !host.slots || *most < *host.slots;
  return is_known ? Result<>()
                  : wrong_value(text,
                                "devices below " + std::to_string(*host.slots) +
                                    ", the slots of '" + host.host + "'");
}

Result<std::vector<Named>> read_all(const Text& text, const std::vector<GivenHost>& hosts) {
  std::vector<Named> all;
  for (const std::string& word : split(text.value, '@')) {
    auto named = read_named(word, text);
    if (!named) {
      return named.error();
    }
    const auto host = std::find_if(hosts.begin(), hosts.end(), [&](const GivenHost& listed) {
      return listed.host == named->host;
    });
    if (host == hosts.end()) {
      return wrong_value(text, "hosts of the list, and '" + named->host + "' is none");
    }
    if (auto checked = check_devices(*named, *host, text); !checked) {
      return checked.error();
    }
    all.push_back(std::move(*named));
  }
  return all.empty() ? Result<std::vector<Named>>(wrong_value(text, kForm)) : all;
}

void use(GivenHost& host, std::vector<int> devices) {
  std::sort(devices.begin(), devices.end());
  host.slots = static_cast<int>(devices.size());
  host.devices = std::move(devices);
}

/// False: nothing of the host is left.
bool include(GivenHost& host, const Named* named) {
  if (named != nullptr && !named->devices.empty()) {
    use(host, named->devices);
  }
  return named != nullptr;
}

bool exclude(GivenHost& host, const Named* named) {
  if (named == nullptr) {
    return true;
  }
  std::vector<int> left(
      static_cast<std::size_t>(named->devices.empty() ? 0 : host.slots.value_or(0)));
  std::iota(left.begin(), left.end(), 0);
  std::erase_if(left, [&](int device) {
    return std::find(named->devices.begin(), named->devices.end(), device) != named->devices.end();
  });
  if (!left.empty()) {
    use(host, left);
  }
  return !left.empty();
}

}  // namespace

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
  const auto all = read_all(text, listed.value);
  if (!all) {
    return all.error();
  }
  std::erase_if(listed.value, [&](GivenHost& host) {
    const auto at = std::find_if(
        all->begin(), all->end(), [&](const Named& named) { return named.host == host.host; });
    const Named* const named = at == all->end() ? nullptr : &*at;
    return included ? !include(host, named) : !exclude(host, named);
  });
  return listed.value.empty() ? Result<Sourced<std::vector<GivenHost>>>(
                                    wrong_value(text, "a choice that leaves a host"))
                              : listed;
}

}  // namespace muster
