// Lists of hosts as users write them. What stands behind "user@" is read as in the lists of platforms.
#include "platforms/choose_platform.hpp"
#include "platforms/host_filling.hpp"
#include "platforms/host_lists.hpp"

#include "base/text.hpp"
#include "base/visible.hpp"
#include "platforms/cluster.hpp"
#include "platforms/given_hosts.hpp"

#include <arpa/inet.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace muster {
namespace {

using GivenHosts = Sourced<std::vector<GivenHost>>;

/// What commas and blanks separate, but for those within brackets.
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

/// "HOST:N"; what is in brackets may have colons, and so may an address without brackets.
struct ParsedHostEntry {
  std::string host;
  std::optional<int> slots;
};

std::optional<ParsedHostEntry> read_word(const std::string& word) {
  const std::size_t bracket = word.rfind(']');
  const std::size_t colon = word.find(':', bracket == std::string::npos ? 0 : bracket);
  const bool is_bare_address =
      bracket == std::string::npos && colon != word.rfind(':') && colon != std::string::npos;
  if (colon == std::string::npos || is_bare_address) {
    return ParsedHostEntry{word, {}};
  }
  const auto slots = parse_integer(word.substr(colon + 1), 1, kMostWorkers);
  return slots ? std::optional(ParsedHostEntry{word.substr(0, colon), slots}) : std::nullopt;
}

/// With a zone or without: fe80::1%eth0.
bool is_address_of_version_6(const std::string& host) {
  in6_addr ignored{};
  return ::inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), &ignored) == 1;
}

/// A name that a remote shell would take for an option, or nobody for a name, is none. Colons are an
/// address's.
bool is_host(const std::string& host) {
  const bool is_address = host.find(':') == std::string::npos || is_address_of_version_6(host);
  return is_address && !host.empty() && host.front() != '-' && visible_line(host) == host &&
         host.find_first_of(" \t\n'\"\\;&|$`<>(){}*?!#,=@") == std::string::npos;
}

/// One host, or all those of a compressed list; `login` ends with '@' or is empty.
Result<> add(std::vector<GivenHost>& hosts,
             const ParsedHostEntry& word,
             const Sourced<std::string>& shown) {
  const std::size_t at = word.host.rfind('@');
  const std::string login = at == std::string::npos ? "" : word.host.substr(0, at + 1);
  std::string name = word.host.substr(login.size());
  std::vector<std::string> names = {name};
  if (name.starts_with('[') && name.ends_with(']') && name.find(':') != std::string::npos) {
    names = {name.substr(1, name.size() - 2)};
  } else if (name.find('[') != std::string::npos) {
    const auto expanded = read_slurm_list({name, shown.source});
    if (!expanded) {
      return expanded.error();
    }
    names = expanded->value;
  }
  for (const std::string& host : names) {
    if (!is_host(host) || login.find_first_of("-'\"\\; ") == 0) {
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
  std::error_code ignored;  // what cannot be looked at cannot be read either
  if (!file || std::filesystem::is_directory(path.value, ignored)) {
    return wrong_value(path, "a file that lists hosts and can be read");
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// One of the two lists, and what DeepSpeed chooses of it.
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
  const auto text = read_file(*file);
  if (!text) {
    return text.error();
  }
  auto listed = read_hosts_of_file({*text, {file->source.kind, "'" + file->value + "'"}});
  return listed ? choose_hosts(std::move(*listed), settings) : listed;
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
  if (colon == std::string::npos || colon == 0 || word.find(':') != colon) {
    return "hosts such as a:8,b:8";
  }
  const std::string slots = word.substr(colon + 1);
  const auto count = parse_integer(slots, 0, kMostWorkers);
  if (count && *count > kMostSlotsOfHost) {
    return "at most " + std::to_string(kMostSlotsOfHost) +
           " slots for a host; in a hostfile a port is port=" + slots;
  }
  return "a number of slots behind '" + shortened(word.substr(0, colon + 1)) + "'" +
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
    if (auto added = add(list.value, *host, shown); !added) {
      return added.error();
    }
  }
  if (auto checked = check_each_once(list.value, shown); !checked) {
    return checked.error();
  }
  return list;
}

Result<GivenHosts> read_hosts_of_file(const Sourced<std::string>& text) {
  const auto read = read_hostfile(text);
  if (!read) {
    return read.error();
  }
  GivenHosts list{{}, text.source};
  for (const HostSlots& host : read->value) {
    const std::string login = host.user.empty() ? host.host : host.user + "@" + host.host;
    if (auto added = add(list.value, {login, host.slots}, {shortened(host.host), text.source});
        !added) {
      return added.error();
    }
    if (host.port) {  // as ssh takes them together
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
  return Error{blame(list.source),
               list.source.name + " is '" + list.value + "' but " + starter.sign +
                   " says that this is " + starter.platform +
                   ", which starts muster on each node; leave the list of hosts out, or if it is "
                   "right, add --platform flags"};
}

/// A scheduler that starts one process, from which the other hosts have to be reached, gives that no rank. Variables that are
/// left behind, or whose leader no other node could reach, start nothing.
std::optional<Starter> find_starter(const Snapshot& snapshot) {
  const auto choice = choose_platform(snapshot, {}, {});
  if (!choice || choice->platform == nullptr) {
    return std::nullopt;
  }
  const Platform& platform = *choice->platform;
  const auto facts = platform.read(snapshot);
  const bool has_others = facts && facts->nodes && facts->nodes->value > 1;
  const bool is_one_of_them = has_others && (facts->node_rank || platform.may_lack_rank);
  const auto bare = find_bare_sign(snapshot, {});
  const bool is_left_behind = bare && !bare->is_whole;
  return is_one_of_them && !is_left_behind
             ? std::optional(Starter{platform.name, choice->source.name, facts->nodes->value})
             : std::nullopt;
}

}  // namespace muster
