// Reads names of hosts. Nothing is looked up.
#include "platforms/hosts.hpp"

#include "base/endpoint.hpp"
#include "base/text.hpp"
#include "base/visible.hpp"

#include <algorithm>
#include <cctype>

namespace muster {
namespace {

bool are_host_names(const std::vector<std::string>& hosts) {
  return !hosts.empty() && std::all_of(hosts.begin(), hosts.end(), [](const std::string& host) {
    return read_address({host, {}}).has_value();
  });
}

/// ", not a URL", by the first of them that is none.
std::string describe_mistake(const std::vector<std::string>& hosts) {
  for (const std::string& host : hosts) {
    if (std::string mistake = describe_host_mistake(host); !mistake.empty()) {
      return mistake;
    }
  }
  return {};
}

Sourced<std::string> as_text(const HostList& hosts) {
  return {shortened(join(hosts.value, ",")), hosts.source};
}

}  // namespace

std::vector<std::string> words_of(std::string_view given) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::string text = with_plain_blanks(without_byte_order_mark(given));
  std::vector<std::string> words;
  std::size_t begin = text.find_first_not_of(kBlanks);
  while (begin != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

std::vector<std::string> listed_words(std::string_view text) {
  std::vector<std::string> listed;
  for (const std::string& piece : split(text, ',')) {
    const std::vector<std::string> words = words_of(piece);
    if (words.empty()) {
      listed.emplace_back();
    }
    listed.insert(listed.end(), words.begin(), words.end());
  }
  return listed;
}

Result<HostList> read_host_list(const Sourced<std::string>& text) {
  const std::vector<std::string> hosts = listed_words(text.value);
  if (!are_host_names(hosts)) {
    return wrong_value({shortened(text.value), text.source},
                       "host names separated by commas" + describe_mistake(hosts));
  }
  return HostList{hosts, text.source};
}

std::string volcano_file(const std::string& task) {
  return kVolcanoFolder + ("/" + task) + kHostFileEnding;
}

std::vector<std::string> volcano_tasks(const Snapshot& snapshot) {
  const std::string start = kVolcanoFolder + std::string("/");
  const std::size_t around = volcano_file("").size();
  std::vector<std::string> tasks;
  for (const auto& [path, text] : snapshot.files) {
    if (path.starts_with(start) && path.ends_with(kHostFileEnding) && path.size() > around) {
      tasks.push_back(path.substr(start.size(), path.size() - around));
    }
  }
  return tasks;
}

Result<std::optional<HostList>> read_host_file(const Snapshot& snapshot, const std::string& task) {
  const auto file = snapshot.files.find(volcano_file(task));
  if (file == snapshot.files.end()) {
    return std::optional<HostList>();
  }
  HostList list{{}, {SourceKind::File, file->first}};
  for (const std::string& line : split(file->second, '\n')) {
    if (const auto words = words_of(line); !words.empty()) {
      list.value.push_back(join(words, " "));
    }
  }
  if (!are_host_names(list.value)) {
    return wrong_value(as_text(list), "one host name on each line");
  }
  return std::optional(list);
}

Result<> check_same_hosts(const HostList& one, const HostList& other) {
  if (one.value == other.value) {
    return {};
  }
  return contradiction(as_text(one), as_text(other), "both list the hosts of one task");
}

Result<> take_hosts(PlatformFacts& facts, const HostList& hosts) {
  const int count = static_cast<int>(hosts.value.size());
  if (facts.nodes && facts.nodes->value != count) {
    return contradiction({std::to_string(facts.nodes->value), facts.nodes->source},
                         as_text(hosts),
                         "one is the number of hosts that the other lists");
  }
  const Sourced<std::string> first{hosts.value.front(), hosts.source};
  const auto& leader = facts.master_address;
  const bool is_listed =
      leader &&
      std::find(hosts.value.begin(), hosts.value.end(), leader->value) != hosts.value.end();
  if (is_listed && leader->value != first.value) {
    return contradiction(*leader, as_text(hosts), "the first host leads");
  }
  facts.nodes = facts.nodes.value_or(Sourced<int>{count, hosts.source});
  facts.master_address = leader.value_or(first);
  facts.hosts = hosts;
  return {};
}

Result<> read_meeting_point(PlatformFacts& facts,
                            const Snapshot& snapshot,
                            const std::string& name) {
  const auto text = sourced_variable(snapshot, name);
  if (!text || text->value.empty()) {
    return {};
  }
  const Endpoint endpoint = split_endpoint(text->value);
  const auto address = read_address({endpoint.host, text->source});
  const auto port = read_port({endpoint.port.value_or("1"), text->source});
  if (!address || !port) {
    return wrong_value(*text, "host or host:port" + describe_host_mistake(text->value));
  }
  constexpr const char* kWhy = "both say where the leader is";
  if (facts.master_address && facts.master_address->value != address->value) {
    return contradiction(*facts.master_address, *text, kWhy);
  }
  if (endpoint.port && facts.master_port && facts.master_port->value != port->value) {
    return contradiction(
        Sourced<std::string>{std::to_string(facts.master_port->value), facts.master_port->source},
        *text,
        kWhy);
  }
  facts.master_address = *address;
  if (endpoint.port) {
    facts.master_port = *port;
  }
  return {};
}

std::string task_in_variable(std::string task) {
  std::transform(task.begin(), task.end(), task.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  return task;
}

std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 400;
  return shortened(text, kMost);
}

}  // namespace muster
