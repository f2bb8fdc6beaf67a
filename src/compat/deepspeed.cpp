// Lists the options of DeepSpeed's launcher and translates them, with the nodes and devices that they choose.
#include "base/lists.hpp"
#include "base/text.hpp"
#include "compat/compat_launcher.hpp"
#include "compat/host_placing.hpp"
#include "compat/stale_variables.hpp"
#include "compat/tokens.hpp"

#include <algorithm>
#include <array>

namespace muster {

// The options of DeepSpeed's launcher, of DeepSpeed 0.19, and what each becomes.
// Facts: deepspeed/launcher/runner.py.

namespace {

using enum OptionSupport;

constexpr const char* kOwnShell = "muster itself reaches other hosts, through ssh or --remote-shell";

constexpr const char* kDeepspeedElastic =
    "muster does not start DeepSpeed's elastic agent; with --nnodes MIN:MAX and --max-restarts, nodes can join and "
    "leave";

constexpr auto kDeepspeedOptions = std::to_array<CompatOption>({
    {"hostfile", 'H', "FILE", Better,
     "muster starts one agent on each of these hosts, through ssh. With --no_ssh the file gives the number of nodes, "
     "and "
     "the slots of this node. If a platform already starts muster on as many nodes as the file has hosts, muster "
     "ignores "
     "the file. There is no default file."},
    {"include", 'i', "NODES", Same,
     "Hosts of the hostfile and their devices, such as a@b:0,2. Without a hostfile, localhost:0,1 means devices of "
     "this node, with the numbers that CUDA_VISIBLE_DEVICES (or the same variable for other devices) has."},
    {"exclude", 'e', "NODES", Same, "The job uses all hosts and devices except those in this list."},
    {"num_nodes", '\0', "N", Better,
     "The job uses only the first N hosts of the hostfile. Without this option and without a hostfile, muster takes "
     "the number of nodes from the platform.",
     "nnodes"},
    {"num_gpus", '\0', "N", Same,
     "Number of workers on this node. Without this option, muster starts one worker for each accelerator.",
     "nproc-per-node"},
    {"num_accelerators", '\0', "N", Same, "Does the same as --num_gpus.", "nproc-per-node"},
    {"elastic_training", '\0', nullptr, Refused, kDeepspeedElastic},
    {"min_elastic_nodes", '\0', "N", Refused, kDeepspeedElastic},
    {"max_elastic_nodes", '\0', "N", Refused, kDeepspeedElastic},
    {"master_port", '\0', "PORT", Same, "Port at which the workers meet. The nodes meet at the next port.",
     "master-port"},
    {"master_addr", '\0', "HOST", Same, "Where the nodes meet.", "master-addr"},
    {"node_rank", '\0', "R", Better,
     "With -1, or without this option, the platform gives the rank. If it gives none, nodes get ranks in the order in "
     "which they arrive."},
    {"launcher", '\0', "NAME", Ignored, kOwnShell},
    {"launcher_args", '\0', "TEXT", Ignored, kOwnShell},
    {"module", '\0', nullptr, Same, "The script is the name of a Python module."},
    {"no_python", '\0', nullptr, Same, "muster executes the script directly, without Python.", "no-python"},
    {"no_local_rank", '\0', nullptr, Same,
     "muster gives the script no --local_rank. Without this option, --local_rank stands before the script's own "
     "arguments."},
    {"no_ssh", '\0', nullptr, Same, "You start muster on each node yourself."},
    {"no_ssh_check", '\0', nullptr, Ignored, "muster names at once a host that it cannot reach"},
    {"force_multi", '\0', nullptr, Ignored,
     "muster reaches a single host of the file in the same way as one of several hosts"},
    {"save_pid", '\0', nullptr, Ignored,
     "muster leaves no process behind, so nobody needs the number of a process to end it"},
    {"enable_each_rank_log", '\0', "DIR", Better,
     "The name of a file has the attempt and the global rank. The console shows the lines as well.", "log-dir"},
    {"autotuning", '\0', "WHAT", Ignored, "muster runs the script as it is, without tuning", nullptr, "tune run", true},
    {"bind_cores_to_rank", '\0', nullptr, Ignored, "muster's own option --bind-core binds workers to cores"},
    {"bind_core_list", '\0', "CORES", Ignored, "muster's own option --bind-core binds workers to cores"},
    {"ssh_port", '\0', "PORT", Same, "Does the same as --remote-shell 'ssh -p PORT'."},
    {"venv_script", '\0', "FILE", Ignored, "muster passes PATH and VIRTUAL_ENV to other hosts"},
    {"log_level", '\0', "LEVEL", Ignored, "--verbose says more"},
    {"quiet", 'q', nullptr, Ignored, "muster prints little even without this option"},
});

}  // namespace

std::span<const CompatOption> deepspeed_options() {
  return kDeepspeedOptions;
}

// Chooses the nodes and devices for a line of DeepSpeed's launcher. Facts: main and parse_resource_filter in
// deepspeed/launcher/runner.py of DeepSpeed 0.19.

namespace {

using Text = Sourced<std::string>;
constexpr const char* kHere = "localhost";

std::vector<std::string> names_of(const std::vector<int>& devices) {
  return mapped(devices, [](int device) { return std::to_string(device); });
}

/// DeepSpeed ignores a hostfile that does not exist; command lines name this one to have none.
constexpr const char* kNoFile = "/dev/null";

/// The value of --include or --exclude. Fails if both are given, or one beside a number of nodes or workers.
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

/// Names of the chosen devices without a list of hosts: only this node can be chosen from.
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
  std::erase_if(left, [&](const std::string& device) { return named.empty() || contains(named, device); });
  return left.empty()
             ? Result<std::vector<std::string>>(wrong_value(choice, "a choice that leaves a device of this node"))
             : left;
}

Result<> set_devices(Translation& t, const std::vector<std::string>& names, const Text& text) {
  const auto places = TRY(places_of_devices(names, text, t.snapshot));
  t.set("devices", places);
  return {};
}

Result<> translate_own_devices(Translation& t, const Text& choice) {
  const auto names = TRY(choose_own(t, choice));
  return names.empty() ? Result<>() : set_devices(t, names, choice);  // no device is named: all
}

Settings host_choice(const Translation& t) {
  return choice_of_hosts(t.find("include"), t.find("exclude"));
}

/// Sets the slots and devices that the list has for this node.
Result<> set_own_share(Translation& t, const std::vector<GivenHost>& hosts, const Text& file,
                       const std::optional<Text>& choice) {
  const auto place = parse_integer(value_at(t.settings, "node-rank").value, 0, static_cast<int>(hosts.size()) - 1);
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

/// Takes the nodes, the address and this node's share from the file: --no_ssh starts each node by itself.
Result<> count_nodes_of_file(Translation& t, const Text& file, const std::optional<Text>& choice) {
  const auto text = t.read_text(file.value);
  if (!text && t.settings.contains("nnodes")) {
    t.ignore("hostfile", "hostfile", "with --no_ssh you start muster on each node");
    return {};
  }
  if (!text) {
    return wrong_value(file, "a file that lists hosts and can be read, or --num_nodes");
  }
  const auto listed = TRY(read_chosen_hosts(t, {*text, {file.source.kind, "'" + file.value + "'"}}, host_choice(t)));
  t.set("nnodes", {std::to_string(listed.value.size()), file.source});
  t.set(kHostsOfNodes, {join(mapped(listed.value, &GivenHost::host), ","), file.source});
  if (!t.settings.contains("master-addr")) {
    t.set("master-addr", {listed.value.front().host, file.source});
  }
  return set_own_share(t, listed.value, file, choice);
}

/// Defaults to one node, without a rendezvous, if neither a list, a count nor the platform has the number.
void default_nodes(Translation& t) {
  const bool is_about = t.settings.contains("node-rank") || t.settings.contains("master-addr") || t.has("no-ssh");
  const bool is_given = t.settings.contains("nnodes") || t.line.settings.has("nnodes");
  if (is_about && !is_given && !find_starter(t)) {
    t.set("nnodes", {"1", default_of("deepspeed")});
  }
  if (value_at(t.settings, "nnodes").value == "1" && t.settings.erase("master-addr") > 0) {
    t.ignore_flag("master-addr", "the job has one node");
  }
}

/// Translates --hostfile, --include, --exclude, --num_nodes and related options into settings. Fails for a chosen
/// host that is not listed, and for options that contradict each other.
Result<> translate_hosts(Translation& t) {
  const auto choice = TRY(find_choice(t));
  auto file = t.find("hostfile");
  if (file && file->value == kNoFile) {
    file.reset();
  }
  const bool is_started = t.has("no-ssh");
  if (file && !is_started) {
    const Settings kept = host_choice(t);
    TRY(choose_node_source(t, *file, kept));
    const auto starter = find_starter(t);
    if (!starter) {
      t.set("hostfile", *file);
      // Applies when the file is read.
      kept.for_each([&](const std::string& name, const Text& value) { t.set(name, value); });
      return {};
    }
    t.ignore("hostfile", "hostfile", starter->platform + " starts muster on each node");
  }
  const bool is_listed = file && is_started;
  TRY(is_listed ? count_nodes_of_file(t, *file, choice) : choice ? translate_own_devices(t, *choice) : Result<>());
  default_nodes(t);
  drop_stale_variables(t, t.settings.contains("nnodes"));
  return {};
}

/// Adds the arguments for ssh that pdsh, DeepSpeed's own way to start the hosts, would add, and names pdsh's other
/// variables. Source: pdsh(1).
void translate_pdsh(Translation& t) {
  const auto launcher = t.find("launcher");
  const bool is_pdsh = !launcher || launcher->value == "pdsh";
  if (!is_pdsh || !t.settings.contains("hostfile")) {
    return;
  }
  if (const auto words = find_given(t.snapshot, "PDSH_SSH_ARGS_APPEND")) {
    const std::string shell = value_at(t.settings, "remote-shell", {"ssh", {}}).value;
    set_remote_shell(t, {shell + " " + words->value, words->source});
  }
  for (const char* const name : {"PDSH_SSH_ARGS", "PDSH_RCMD_TYPE"}) {
    const std::string value = t.snapshot.variable(name).value_or("");
    if (!value.empty() && value != "ssh") {
      t.line.notices.push_back(std::string("ignoring ") + name +
                               ": hosts are reached through ssh, with PDSH_SSH_ARGS_APPEND, or --remote-shell");
    }
  }
}

// Translates the options of DeepSpeed's launcher.

Result<> translate_script(Translation& t) {
  if (t.has("module") && t.has("no-python")) {
    return Error{ErrorKind::BadUsage, "--module and --no_python contradict each other: a module is run by Python"};
  }
  if (t.has("module") && !t.line.program.empty()) {
    t.set("module", {t.line.program.front(), t.given.at("module").source});
    t.line.program.erase(t.line.program.begin());
  }
  if (t.has("no-local-rank")) {
    t.set("template-arguments", {"never", t.given.at("no-local-rank").source});
  }
  t.line.is_python_script = !t.has("no-python");
  return {};
}

}  // namespace

Result<> translate_deepspeed(Translation& t) {
  if (const auto rank = t.find("node-rank")) {
    t.set("node-rank", *rank);
  }
  for (const char* const setting : {"node-rank", "nnodes", "nproc-per-node", "master-addr"}) {
    // Drops a setting with -1 or an empty address, which mean "not given" to DeepSpeed.
    const auto value = t.settings.find(setting);
    if (value != t.settings.end() && (value->second.value == "-1" || value->second.value.empty())) {
      t.settings.erase(value);
    }
  }
  set_ssh(t, t.find("ssh-port"));
  TRY(translate_hosts(t));
  give_port_to_workers(t);
  translate_pdsh(t);
  if (!t.settings.contains("nproc-per-node")) {
    t.set("nproc-per-node", {"auto", default_of("deepspeed")});
  }
  if (const auto folder = t.find("enable-each-rank-log"); folder && folder->value == "None") {
    t.settings.erase("log-dir");
  }
  return translate_script(t);
}

}  // namespace muster
