// Reads lists of hosts as users write them, and chooses hosts and slots by the options of DeepSpeed and mpirun. The
// text after "user@" is read as in platforms' lists.
#include "platforms/given_hosts.hpp"

#include "base/display_text.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "options/readers.hpp"
#include "platforms/cluster.hpp"
#include "platforms/host_lists.hpp"
#include "platforms/platform.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <set>

namespace muster {
namespace {

/// Splits at commas and blanks, except within brackets.
std::vector<std::string> words_outside_brackets(std::string_view given) {
  const std::string text = with_plain_blanks(without_byte_order_mark(given));
  std::vector<std::string> words(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    const bool is_end = depth <= 0 && (c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n');
    if (!is_end) {
      words.back() += c;
    } else if (c == ',' || !words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty() && words.size() > 1 && !text.ends_with(',')) {
    words.pop_back();
  }
  return words;
}

/// "HOST:N"; a bracketed host may contain colons, and so may a bare address.
struct ParsedHostEntry {
  std::string host;
  std::optional<int> slots;
};

std::optional<ParsedHostEntry> read_word(const std::string& word) {
  const std::size_t bracket = word.rfind(']');
  const std::size_t colon = word.find(':', bracket == std::string::npos ? 0 : bracket);
  const bool is_bare_address = bracket == std::string::npos && colon != word.rfind(':') && colon != std::string::npos;
  if (colon == std::string::npos || is_bare_address) {
    return ParsedHostEntry{word, {}};
  }
  const auto slots = parse_integer(word.substr(colon + 1), 1, kMostWorkers);
  return slots ? std::optional(ParsedHostEntry{word.substr(0, colon), slots}) : std::nullopt;
}

/// Adds one host, or all those of a compressed list; `login` ends with '@' or is empty.
Result<> add(std::vector<GivenHost>& hosts, const ParsedHostEntry& word, const Sourced<std::string>& shown) {
  const std::size_t at = word.host.rfind('@');
  const std::string login = at == std::string::npos ? "" : word.host.substr(0, at + 1);
  std::string name = word.host.substr(login.size());
  std::vector<std::string> names = {name};
  if (name.starts_with('[') && name.ends_with(']') && name.find(':') != std::string::npos) {
    names = {name.substr(1, name.size() - 2)};
  } else if (name.find('[') != std::string::npos) {
    const auto expanded = TRY(read_slurm_list({name, shown.source}));
    names = expanded.value;
  }
  for (const std::string& host : names) {
    if (!is_host_or_address(host) || login.find_first_of("-'\"\\; ") == 0) {
      return wrong_value(shown, expected_of_host(word.host));
    }
    hosts.push_back({login + host, host, word.slots});
  }
  return {};
}

Result<> check_each_once(const std::vector<GivenHost>& hosts, const Sourced<std::string>& shown) {
  std::set<std::string> seen;
  for (const GivenHost& host : hosts) {
    if (!seen.insert(host.host).second) {
      return wrong_value(shown, "each host once, and '" + host.host + "' is listed twice");
    }
  }
  return {};
}

Result<std::string> read_file(const Sourced<std::string>& path) {
  std::ifstream file(path.value, std::ios::binary);
  std::error_code ignored;  // reading reports the error
  if (!file || std::filesystem::is_directory(path.value, ignored)) {
    return wrong_value(path, "a file that lists hosts and can be read");
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Reads one of the two lists, and applies DeepSpeed's choice.
Result<GivenHosts> read_list(const Settings& settings) {
  const auto hosts = settings.find("hosts");
  const auto file = settings.find("hostfile");
  if (hosts && file) {
    return contradiction(*hosts, *file, "one of them lists the hosts");
  }
  if (hosts) {
    return read_hosts_option(*hosts);
  }
  if (!file) {
    return GivenHosts{};
  }
  const auto text = TRY(read_file(*file));
  return choose_hosts(TRY(read_hosts_of_file({text, {file->source.kind, "'" + file->value + "'"}})), settings);
}

}  // namespace

std::string expected_of_host(const std::string& word) {
  const std::string shown = "'" + shortened(visible_line(word)) + "'";
  const std::size_t colon = word.rfind(':');
  if (word.find("://") != std::string::npos) {
    return "hosts such as a:8,b:8, and " + shown + " is a URL";
  }
  if (word.find_first_of(" \t") != std::string::npos) {
    return "hosts with commas between them, and " + shown + " has a blank";
  }
  if (visible_line(word) != word) {
    return "hosts such as a:8,b:8, and " + shown + " has characters that no host name has";
  }
  if (has_two_ports(word)) {
    return "hosts such as a:8,b:8, and " + shown + " has two numbers";
  }
  if (const std::string mistake = describe_host_mistake(word); !mistake.empty()) {
    return "hosts such as a:8,b:8" + mistake;
  }
  if (colon == std::string::npos || colon == 0 || word.find(':') != colon) {
    return "hosts such as a:8,b:8";
  }
  const std::string slots = word.substr(colon + 1);
  const auto count = parse_integer(slots, 0, kMostWorkers);
  if (count && *count > kMostSlotsOfHost) {
    return "at most " + std::to_string(kMostSlotsOfHost) + " slots for a host; in a hostfile a port is port=" + slots;
  }
  return "a number of slots after '" + shortened(word.substr(0, colon + 1)) + "'" +
         (slots.empty() ? "" : ", not '" + shortened(visible_line(slots)) + "'");
}

Result<GivenHosts> read_hosts_option(const Sourced<std::string>& text) {
  const Sourced<std::string> shown{shortened(text.value), text.source};
  GivenHosts list{{}, text.source};
  for (const std::string& word : words_outside_brackets(text.value)) {
    const auto host = read_word(word);
    if (!host) {
      return wrong_value(shown, expected_of_host(word));
    }
    TRY(add(list.value, *host, shown));
  }
  TRY(check_each_once(list.value, shown));
  return list;
}

Result<GivenHosts> read_hosts_of_file(const Sourced<std::string>& text) {
  const auto read = TRY(read_hostfile(text));
  GivenHosts list{{}, text.source};
  for (const HostSlots& host : read.value) {
    const std::string login = host.user.empty() ? host.host : host.user + "@" + host.host;
    TRY(add(list.value, {login, host.slots}, {shortened(host.host), text.source}));
    if (host.port) {  // in the form that ssh takes
      GivenHost& last = list.value.back();
      last.login = "ssh://" + last.login + ":" + std::to_string(*host.port);
    }
  }
  return list;
}

Result<GivenHosts> read_given_hosts(const Settings& settings) {
  auto listed = read_list(settings);
  return listed && !listed->value.empty() ? fill_hosts(std::move(*listed), settings) : listed;
}

Error refuse_list(const Sourced<std::string>& list, const Starter& starter) {
  return Error{
      error_kind(list.source),
      list.source.name + " is '" + list.value + "' but " + starter.sign + " says that this is " + starter.platform +
          ", which starts muster on each node; leave the list of hosts out, or if it is right, add --platform flags"};
}

/// A scheduler that starts one process, which has to reach the other hosts, gives that process no rank. Stale
/// variables, and those with a leader that other nodes cannot reach, are no starter.
std::optional<Starter> find_starter(const Snapshot& snapshot) {
  const auto choice = choose_platform(snapshot, {}, {});
  if (!choice || choice->platform == nullptr) {
    return std::nullopt;
  }
  const Platform& platform = *choice->platform;
  const auto facts = read_platform(platform, snapshot);
  const bool has_others = facts && facts->nodes && facts->nodes->value > 1;
  const bool is_one_of_them = has_others && (facts->node_rank || platform.may_lack_rank);
  const auto bare = find_bare_sign(snapshot, {});
  const bool is_left_behind = bare && !bare->is_whole;
  return is_one_of_them && !is_left_behind
             ? std::optional(Starter{platform.name, choice->source.name, facts->nodes->value})
             : std::nullopt;
}

// DeepSpeed's --include and --exclude. Source: deepspeed/launcher/runner.py, parse_resource_filter.

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

/// Adds a host, or devices to a host that is named again.
void add(std::vector<ChosenHost>& all, const ChosenHost& chosen) {
  auto at = std::ranges::find_if(all, [&](const ChosenHost& one) { return one.host == chosen.host; });
  if (at == all.end()) {
    at = all.insert(all.end(), {chosen.host, {}});
  }
  std::vector<int>& devices = at->devices;
  devices.insert(devices.end(), chosen.devices.begin(), chosen.devices.end());
  std::ranges::sort(devices);
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
}

/// Checks devices against slots: with slots, devices are numbers from 0.
Result<> check_devices(const ChosenHost& chosen, const GivenHost& host, const Text& text) {
  const bool is_known = chosen.devices.empty() || !host.slots || chosen.devices.back() < *host.slots;
  return is_known
             ? Result<>()
             : wrong_value(text, "devices below " + std::to_string(*host.slots) + ", the slots of '" + host.host + "'");
}

Result<> check_listed(const std::vector<ChosenHost>& all, const std::vector<GivenHost>& hosts, const Text& text) {
  for (const ChosenHost& chosen : all) {
    const auto* const host = first_of(hosts, [&](const GivenHost& listed) { return listed.host == chosen.host; });
    if (host == nullptr) {
      return wrong_value(text, "hosts of the list, and '" + chosen.host + "' is not one of them");
    }
    TRY(check_devices(chosen, *host, text));
  }
  return {};
}

void use(GivenHost& host, std::vector<int> devices) {
  host.slots = static_cast<int>(devices.size());
  host.devices = std::move(devices);
}

/// False: no device of the host remains.
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
  std::vector<int> left(static_cast<std::size_t>(chosen->devices.empty() ? 0 : host.slots.value_or(0)));
  std::iota(left.begin(), left.end(), 0);
  std::erase_if(left, [&](int device) { return contains(chosen->devices, device); });
  if (!left.empty()) {
    use(host, left);
  }
  return !left.empty();
}

}  // namespace

Result<std::vector<ChosenHost>> read_host_choice(const Sourced<std::string>& text) {
  std::vector<ChosenHost> all;
  for (const std::string& word : split(text.value, '@')) {
    const auto chosen = TRY(read_chosen(word, text));
    add(all, chosen);
  }
  return all.empty() ? Result<std::vector<ChosenHost>>(wrong_value(text, kChoiceForm)) : all;
}

Result<GivenHosts> choose_hosts(GivenHosts listed, const Settings& settings) {
  const auto included = settings.find(kIncludedHosts);
  const auto excluded = settings.find(kExcludedHosts);
  if (included && excluded) {
    return contradiction(*included, *excluded, "one of them chooses the hosts");
  }
  if (!included && !excluded) {
    return listed;
  }
  const Text& text = included ? *included : *excluded;
  const auto all = TRY(read_host_choice(text));
  TRY(check_listed(all, listed.value, text));
  std::erase_if(listed.value, [&](GivenHost& host) {
    const ChosenHost* const chosen = first_of(all, [&](const ChosenHost& one) { return one.host == host.host; });
    return included ? !include(host, chosen) : !exclude(host, chosen);
  });
  return listed.value.empty() ? Result<GivenHosts>(wrong_value(text, "a choice that leaves a host")) : listed;
}

// Deals mpirun's processes to the slots of hosts.

namespace {

/// Sets a number of processes for each host, whatever the list has.
Result<> count_per_host(GivenHosts& listed, const Sourced<std::string>& count, bool may_exceed) {
  const int number = TRY(read_integer(count, 1, kMostWorkers, "a number of processes of at least 1"));
  for (GivenHost& host : listed.value) {
    if (host.slots && number > *host.slots && !may_exceed) {
      return wrong_value(
          count, "at most " + std::to_string(*host.slots) + ", the slots of '" + host.host + "', or --oversubscribe");
    }
    host.slots = number;
  }
  return {};
}

/// Fills the hosts' slots; returns the number of remaining processes.
int fill(GivenHosts& listed, int processes) {
  for (GivenHost& host : listed.value) {
    host.slots = std::min(*host.slots, processes);
    processes -= *host.slots;
  }
  return processes;
}

Result<> deal(GivenHosts& listed, const Sourced<std::string>& count, const Settings& settings) {
  const int number = TRY(read_number_within(count, 1, kMostWorkers, "a number of processes"));
  const auto silent = std::ranges::count_if(listed.value, [](const GivenHost& host) { return !host.slots; });
  if (silent == static_cast<std::ptrdiff_t>(listed.value.size())) {
    // Divides the processes evenly among hosts without slots.
    const auto hosts = static_cast<int>(listed.value.size());
    for (int i = 0; i < hosts; ++i) {
      listed.value[static_cast<std::size_t>(i)].slots = number / hosts + (i < number % hosts ? 1 : 0);
    }
    return {};
  }
  if (silent > 0) {
    return wrong_value(count, "a number of slots at each host of " + listed.source.name + ", or at none");
  }
  const int left = fill(listed, number);
  if (left > 0 && !settings.has(kMayOversubscribe)) {
    return wrong_value(count, "at most " + std::to_string(number - left) + ", the slots of " + listed.source.name +
                                  or_oversubscribe(settings));
  }
  for (int i = 0; i < left; ++i) {
    ++*listed.value[static_cast<std::size_t>(i) % listed.value.size()].slots;
  }
  return {};
}

/// Leaves dealing to mpirun: each host keeps its slots, and a host without slots may get all.
Result<> leave_to_mpirun(GivenHosts& listed, const Sourced<std::string>& count, bool may_exceed) {
  const int number = TRY(read_number_within(count, 1, kMostWorkers, "a number of processes"));
  int slots = 0;
  for (GivenHost& host : listed.value) {
    host.slots = host.slots.value_or(number);
    slots += *host.slots;
  }
  return number <= slots || may_exceed ? Result<>()
                                       : wrong_value(count, "at most " + std::to_string(slots) + ", the slots of " +
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
    TRY(count_per_host(listed, *per_host, may_exceed));
  }
  const auto processes = settings.find(kProcessesOfHosts);
  if (processes && settings.has(kDealtByMpirun)) {
    TRY(leave_to_mpirun(listed, *processes, may_exceed));
    return listed;
  }
  if (processes) {
    TRY(deal(listed, *processes, settings));
    std::erase_if(listed.value, [](const GivenHost& host) { return host.slots == 0; });
  }
  return listed;
}

}  // namespace muster
