// Reads hosts with slots: MPI's hostfiles, the node files of PBS and LSF, and lists in one line.
#include "platforms/host_lists.hpp"

#include "base/display_text.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "platforms/given_hosts.hpp"

#include <algorithm>
#include <map>

namespace muster {

// Reads names of hosts. Nothing is looked up.

namespace {

bool are_host_names(const std::vector<std::string>& hosts) {
  return !hosts.empty() && std::ranges::all_of(hosts, [](const std::string& host) {
    return read_address({host, {}}).has_value();
  });
}

/// ", not a URL", for the first invalid host.
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
    return contradiction(as_text(*facts.nodes), as_text(hosts), "one is the number of hosts that the other lists");
  }
  const Sourced<std::string> first{hosts.value.front(), hosts.source};
  const auto& leader = facts.master_address;
  const bool is_listed = leader && contains(hosts.value, leader->value);
  if (is_listed && leader->value != first.value) {
    return contradiction(*leader, as_text(hosts), "the first host leads");
  }
  facts.nodes = facts.nodes.value_or(Sourced<int>{count, hosts.source});
  facts.master_address = leader.value_or(first);
  facts.hosts = hosts;
  return {};
}

Result<> read_meeting_point(PlatformFacts& facts, const Snapshot& snapshot, const std::string& name) {
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
    return contradiction(as_text(*facts.master_port), *text, kWhy);
  }
  facts.master_address = *address;
  if (endpoint.port) {
    facts.master_port = *port;
  }
  return {};
}

std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 400;
  return shortened(text, kMost);
}

namespace {

using Words = std::vector<std::string>;

/// One line of a file, as a value for messages.
Sourced<std::string> line_of(const Source& file, std::size_t index, const std::string& line) {
  return {shortened(line), {file.kind, "line " + std::to_string(index + 1) + " of " + file.name}};
}

/// Collects hosts in the order of their first mention.
class Collector {
 public:
  explicit Collector(const Source& source) : list_{{}, source} {}

  /// Adds a host; `place` is where it is named. A second number for a host is an error.
  Result<> add(const HostSlots& named, const Sourced<std::string>& place) {
    TRY(read_address({named.host, place.source}));
    const auto [seen, is_new] = indexes_.emplace(named.host, list_.value.size());
    if (is_new) {
      list_.value.push_back(named);
      repeats_.push_back(1);
      return {};
    }
    auto& slots = list_.value[seen->second].slots;
    if (slots && !named.slots && *slots < kMostWorkers) {
      ++*slots;
      return {};
    }
    if (named.slots || slots) {
      return wrong_value(place, "each host with a number of slots once, and '" + named.host + "' is listed before");
    }
    ++repeats_[seen->second];
    return {};
  }

  /// Adds `count` slots to a host.
  Result<> add_slots(const std::string& host, int count, const Sourced<std::string>& place) {
    const auto seen = indexes_.find(host);
    if (seen == indexes_.end()) {
      return add({host, count}, place);
    }
    int& slots = *list_.value[seen->second].slots;
    if (slots > kMostWorkers - count) {
      return wrong_value(place, "at most " + std::to_string(kMostWorkers) + " slots");
    }
    slots += count;
    return {};
  }

  Result<SlotList> finish(const Sourced<std::string>& text, std::string_view expected) {
    if (list_.value.empty() || list_.value.size() > kMostNodes) {
      return wrong_value({shortened(text.value), text.source}, expected);
    }
    // A list that repeats some hosts repeats each as often as it has slots: PBS.
    const bool is_counted = std::ranges::any_of(repeats_, [](int times) { return times > 1; });
    for (std::size_t i = 0; i < repeats_.size(); ++i) {
      HostSlots& host = list_.value[i];
      host.slots = is_counted && !host.slots ? std::optional(repeats_[i]) : host.slots;
    }
    return std::move(list_);
  }

 private:
  SlotList list_;
  std::vector<int> repeats_;  ///< how often each is listed without a number
  std::map<std::string, std::size_t> indexes_;
};

/// Reads "HOST" or "HOST:N"; an IPv6 address has at least two colons.
std::optional<HostSlots> read_host_word(const std::string& word) {
  const std::size_t colon = word.find(':');
  if (colon == std::string::npos || word.find(':', colon + 1) != std::string::npos) {
    return HostSlots{word, {}};
  }
  const auto slots = parse_integer(word.substr(colon + 1), 0, kMostWorkers);
  return slots ? std::optional(HostSlots{word.substr(0, colon), slots}) : std::nullopt;
}

/// Reads the first word of a hostfile's line: also "USER@HOST", and an address in brackets.
std::optional<HostSlots> read_hostfile_host(const std::string& word) {
  const std::size_t at = word.find('@');
  const bool has_user = at != std::string::npos;
  std::string place = has_user ? word.substr(at + 1) : word;
  const std::size_t bracket = place.find(']');
  const std::string behind = bracket == std::string::npos ? "" : place.substr(bracket + 1);
  const bool is_address = place.starts_with('[') && bracket != std::string::npos;
  auto host = is_address ? read_host_word("a" + behind) : read_host_word(place);
  if (!host || (has_user && at == 0) || (is_address && host->host != "a")) {
    return std::nullopt;
  }
  if (is_address) {
    host->host = place.substr(1, bracket - 1);
  }
  host->user = has_user ? word.substr(0, at) : "";
  return host;
}

/// Removes a hostfile's comments; their line ends stay, so that lines keep their numbers.
std::string without_comments(std::string_view text) {
  std::string rest;
  while (!text.empty()) {
    const bool is_block = text.starts_with("/*");
    if (!is_block && !text.starts_with("//") && text.front() != '#') {
      rest += text.front();
      text.remove_prefix(1);
      continue;
    }
    const std::size_t end = is_block ? text.find("*/", 2) : text.find('\n');
    const std::string_view comment = text.substr(0, end);
    rest.append(static_cast<std::size_t>(std::ranges::count(comment, '\n')), '\n');
    text.remove_prefix(std::min(comment.size() + (is_block ? 2U : 0U), text.size()));
  }
  return rest;
}

/// Kinds of a hostfile's keys, such as "slots", "count", "cpu-max" and "max_slots": slots, their maximum, or the
/// login.
enum class Key {
  Slots,
  MostSlots,
  User,
  Port,
  Unknown
};

Key key_of(std::string name) {
  name = lower_case(name);
  std::ranges::replace(name, '-', '_');
  const bool is_prefix = name.starts_with("max_");
  const bool is_most = is_prefix || name.ends_with("_max");
  if (is_most) {
    name = is_prefix ? name.substr(4) : name.substr(0, name.size() - 4);
  }
  if (!is_most && (name == "port" || name == "username" || name == "user_name")) {
    return name == "port" ? Key::Port : Key::User;
  }
  const bool is_known = name == "slots" || name == "slot" || name == "count" || name == "cpu" || name == "cpus";
  return !is_known ? Key::Unknown : is_most ? Key::MostSlots : Key::Slots;
}

/// Splits a line "HOST slots = N"; blanks around the sign are removed.
Words hostfile_words(const std::string& line) {
  Words words;
  bool is_value = false;
  for (const std::string& word : words_of(line)) {
    const bool is_joined = !words.empty() && (is_value || word.front() == '=');
    if (is_joined) {
      words.back() += word;
    } else {
      words.push_back(word);
    }
    is_value = word.back() == '=';
  }
  return words;
}

/// The fields of one line of a hostfile.
struct HostfileLine {
  HostSlots host;
  std::optional<int> most_slots;
};

/// Reads a field "KEY=VALUE", of which a line has at most one for each key.
bool read_field(HostfileLine& line, const std::string& word) {
  const std::size_t sign = word.find('=');
  if (sign == std::string::npos || sign + 1 == word.size()) {
    return false;
  }
  const Key key = key_of(word.substr(0, sign));
  const std::string value = word.substr(sign + 1);
  if (key == Key::User) {
    const bool is_first = line.host.user.empty();
    line.host.user = value;
    return is_first;
  }
  const int least = key == Key::Port ? 1 : 0;
  const auto number = parse_integer(value, least, key == Key::Port ? kMostPort : kMostWorkers);
  std::optional<int>& field = key == Key::Slots ? line.host.slots : key == Key::Port ? line.host.port : line.most_slots;
  const bool is_new = number && key != Key::Unknown && !field;
  field = number;
  return is_new;
}

std::optional<HostSlots> read_hostfile_line(const Words& words) {
  const bool is_host = words.front().find('=') == std::string::npos;
  auto host = is_host ? read_hostfile_host(words.front()) : std::nullopt;
  if (!host) {
    return std::nullopt;
  }
  HostfileLine line{std::move(*host), {}};
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!read_field(line, words[i])) {
      return std::nullopt;
    }
  }
  const bool is_above = line.most_slots && line.host.slots.value_or(1) > *line.most_slots;
  return is_above ? std::nullopt : std::optional(std::move(line.host));
}

std::string expected_of_slots(int slots) {
  const std::string read = std::to_string(slots);
  std::string expected = "at most " + std::to_string(kMostSlotsOfHost) + " slots: ";
  return expected.append(read).append(" is read as a number of slots; a port is port=").append(read);
}

}  // namespace

HostList hosts_of(const SlotList& list) {
  return {mapped(list.value, &HostSlots::host), list.source};
}

Result<SlotList> read_hosts_with_slots(const Sourced<std::string>& text) {
  constexpr std::string_view kForm = "hosts such as a:8,b:8";
  const Sourced<std::string> shown{shortened(text.value), text.source};
  Collector collector(text.source);
  for (const std::string& word : listed_words(text.value)) {
    const auto host = read_host_word(word);
    if (!host || host->host.empty() || host->slots == 0) {
      return wrong_value(shown, expected_of_host(word));
    }
    TRY(collector.add(*host, shown));
  }
  return collector.finish(text, kForm);
}

Result<SlotList> read_hostfile(const Sourced<std::string>& text) {
  Collector collector(text.source);
  bool is_unused = false;
  const Words lines = split(without_comments(text.value), '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Words words = hostfile_words(lines[i]);
    if (words.empty()) {
      continue;
    }
    const auto place = line_of(text.source, i, lines[i]);
    const auto host = read_hostfile_line(words);
    if (!host) {
      return wrong_value(place, "HOST, HOST slots=N max_slots=M or HOST:N");
    }
    if (host->slots.value_or(0) > kMostSlotsOfHost) {
      return wrong_value(place, expected_of_slots(*host->slots));
    }
    if (host->slots == 0) {  // listed, but not to be used
      is_unused = true;
      continue;
    }
    TRY(collector.add(*host, place));
  }
  return collector.finish(text, is_unused ? "a host with a slot" : "one host on each line");
}

Result<SlotList> read_node_file(const Sourced<std::string>& text) {
  Collector collector(text.source);
  const Words lines = split(text.value, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Words words = words_of(lines[i]);
    if (words.empty()) {
      continue;
    }
    const auto place = line_of(text.source, i, lines[i]);
    const auto count = words.size() == 1 ? std::optional(1) : parse_integer(words[1], 1, kMostWorkers);
    if (words.size() > 2 || !count) {
      return wrong_value(place, "a host, or a host and its number of slots");
    }
    TRY(collector.add_slots(words[0], *count, place));
  }
  return collector.finish(text, "one host on each line");
}

Result<SlotList> read_host_pairs(const Sourced<std::string>& text) {
  constexpr std::string_view kForm = "hosts with their slots, such as 'a 8 b 8'";
  const Sourced<std::string> shown{shortened(text.value), text.source};
  Collector collector(text.source);
  const Words words = words_of(text.value);
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const auto count = i + 1 < words.size() ? parse_integer(words[i + 1], 1, kMostWorkers) : std::nullopt;
    if (!count) {
      return wrong_value(shown, kForm);
    }
    TRY(collector.add_slots(words[i], *count, shown));
  }
  return collector.finish(text, kForm);
}

}  // namespace muster
