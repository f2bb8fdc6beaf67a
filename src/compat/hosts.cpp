// Which nodes and devices a line of DeepSpeed's launcher means. Facts: main and parse_resource_filter in
// deepspeed/launcher/runner.py of DeepSpeed 0.19.
#include "compat/deepspeed.hpp"

#include "compat/host_placing.hpp"
#include "compat/leftovers.hpp"
#include "compat/shown_devices.hpp"
#include "compat/tokens.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace muster::deepspeed {
namespace {

using Text = Sourced<std::string>;
using GivenHosts = Sourced<std::vector<GivenHost>>;

constexpr const char* kHere = "localhost";

std::vector<std::string> names_of(const std::vector<int>& devices) {
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const int device : devices) {
    names.push_back(std::to_string(device));
  }
  return names;
}

/// What is no file is none for DeepSpeed, and lines say so by this one.
constexpr const char* kNoFile = "/dev/null";

/// One of the two, which numbers of nodes and workers contradict.
Result<std::optional<Text>> find_choice(const Translation& t) {
  const auto included = t.find("include");
  const auto excluded = t.find("exclude");
  if (included && excluded) {
    return contradiction(*included, *excluded);
  }
  const auto choice = included ? included : excluded;
  for (const char* const setting : {"nnodes", "nproc-per-node"}) {
    const auto count = t.settings.find(setting);
    if (choice && count != t.settings.end()) {
      return contradiction(*choice, count->second);
    }
  }
  return choice;
}

bool is_exclusion(const Translation& t) {
  return t.find("exclude").has_value();
}

/// Without a list of hosts there is this node alone.
Result<std::vector<std::string>> choose_own(const Translation& t, const Text& choice) {
  const auto chosen = read_host_choice(choice);
  if (!chosen || chosen->size() != 1 || chosen->front().host != kHere) {
    return wrong_value(choice, "devices of this node such as localhost:0,1, or a --hostfile");
  }
  std::vector<std::string> named = names_of(chosen->front().devices);
  if (!is_exclusion(t)) {
    return named;
  }
  std::vector<std::string> left = shown_devices(t.snapshot);
  std::erase_if(left, [&](const std::string& device) {
    return named.empty() || std::find(named.begin(), named.end(), device) != named.end();
  });
  return left.empty() ? Result<std::vector<std::string>>(
                            wrong_value(choice, "a choice that leaves a device of this node"))
                      : left;
}

Result<> set_devices(Translation& t, const std::vector<std::string>& names, const Text& text) {
  const auto places = places_of_devices(names, text, t.snapshot);
  if (!places) {
    return places.error();
  }
  t.set("devices", *places);
  return {};
}

Result<> translate_own_devices(Translation& t, const Text& choice) {
  const auto names = choose_own(t, choice);
  if (!names) {
    return names.error();
  }
  return names->empty() ? Result<>() : set_devices(t, *names, choice);  // none is named: all
}

void set_choice(const Translation& t, const std::optional<Text>& choice, Settings& settings) {
  if (choice) {
    settings.set(is_exclusion(t) ? kExcludedHosts : kIncludedHosts, *choice);
  }
}

/// The hosts that are left of the file.
Result<GivenHosts> read_list(const Translation& t,
                             const Text& text,
                             const std::optional<Text>& choice) {
  auto listed = read_hosts_of_file(text);
  if (!listed) {
    return listed;
  }
  Settings settings;
  set_choice(t, choice, settings);
  listed = choose_hosts(std::move(*listed), settings);
  const auto wanted = t.settings.find("nnodes");
  if (!listed || wanted == t.settings.end()) {
    return listed;
  }
  const auto most = static_cast<int>(listed->value.size());
  const auto nodes = parse_integer(wanted->second.value, 1, most);
  listed->value.resize(static_cast<std::size_t>(nodes.value_or(most)));
  return listed;
}

/// What the list says of the node that this is.
Result<> set_own_share(Translation& t,
                       const std::vector<GivenHost>& hosts,
                       const Text& file,
                       const std::optional<Text>& choice) {
  const auto rank = t.settings.find("node-rank");
  const auto place = rank == t.settings.end()
                         ? std::nullopt
                         : parse_integer(rank->second.value, 0, static_cast<int>(hosts.size()) - 1);
  if (!place || t.settings.contains("nproc-per-node")) {
    return {};
  }
  const GivenHost& own = hosts[static_cast<std::size_t>(*place)];
  if (own.slots) {
    t.set("nproc-per-node", {std::to_string(*own.slots), file.source});
  }
  const std::vector<std::string> names = names_of(own.devices);
  const Source& source = choice ? choice->source : file.source;
  return names.empty() ? Result<>() : set_devices(t, names, {join(names, ","), source});
}

/// Each node is started by itself, and the file says how many there are and what each of them has.
Result<> count_nodes_of_file(Translation& t, const Text& file, const std::optional<Text>& choice) {
  const auto text = t.read_text(file.value);
  if (!text && t.settings.contains("nnodes")) {
    t.ignore("hostfile", "hostfile", "with --no_ssh each node is started by itself");
    return {};
  }
  if (!text) {
    return wrong_value(file, "a file that lists hosts and can be read, or --num_nodes beside it");
  }
  const auto listed = read_list(t, {*text, {file.source.kind, "'" + file.value + "'"}}, choice);
  if (!listed) {
    return listed.error();
  }
  t.set("nnodes", {std::to_string(listed->value.size()), file.source});
  if (!t.settings.contains("master-addr")) {
    t.set("master-addr", {listed->value.front().host, file.source});
  }
  return set_own_share(t, listed->value, file, choice);
}

/// Its hosts are for us to start, and are chosen when the file is read.
void set_list(Translation& t, const Text& file, const std::optional<Text>& choice) {
  t.set("hostfile", file);
  if (choice) {
    t.set(is_exclusion(t) ? kExcludedHosts : kIncludedHosts, *choice);
  }
}

std::optional<Text> find_hostfile(const Translation& t) {
  const auto file = t.find("hostfile");
  return file && file->value == kNoFile ? std::nullopt : file;
}

/// The platform's nodes, or other hosts for us to start.
Result<> settle_list(Translation& t, const Text& file, const std::optional<Text>& choice) {
  Settings kept;
  set_choice(t, choice, kept);
  return settle_starter(t, file, kept);
}

/// Without a list and a number of nodes there is one, unless the platform says how many. It meets nobody.
void default_nodes(Translation& t) {
  const bool is_about =
      t.settings.contains("node-rank") || t.settings.contains("master-addr") || t.is_on("no-ssh");
  const bool is_said = t.settings.contains("nnodes") || t.line.settings.has("nnodes");
  if (is_about && !is_said && !find_starter(t)) {
    t.set("nnodes", {"1", default_of("deepspeed")});
  }
  const auto nodes = t.settings.find("nnodes");
  if (nodes != t.settings.end() && nodes->second.value == "1") {
    t.settings.erase("master-addr");
  }
}

}  // namespace

Result<> translate_hosts(Translation& t) {
  const auto choice = find_choice(t);
  if (!choice) {
    return choice.error();
  }
  const auto file = find_hostfile(t);
  const bool is_started = t.is_on("no-ssh");
  if (auto settled = file && !is_started ? settle_list(t, *file, *choice) : Result<>(); !settled) {
    return settled;
  }
  const auto starter = file && !is_started ? find_starter(t) : std::nullopt;
  if (file && !is_started && !starter) {
    set_list(t, *file, *choice);
    return {};
  }
  if (starter) {
    t.ignore("hostfile", "hostfile", starter->platform + " starts muster on each node");
  }
  const bool is_listed = file && is_started;
  auto translated = is_listed ? count_nodes_of_file(t, *file, *choice)
                    : *choice ? translate_own_devices(t, **choice)
                              : Result<>();
  if (!translated) {
    return translated;
  }
  default_nodes(t);
  leave_out_leftovers(t, t.settings.contains("nnodes"));
  return {};
}

}  // namespace muster::deepspeed
