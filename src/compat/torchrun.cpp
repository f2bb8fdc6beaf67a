// Translates the options of torchrun into settings.
#include "base/endpoint.hpp"
#include "base/signals.hpp"
#include "base/text.hpp"
#include "compat/compat_launcher.hpp"
#include "compat/stale_variables.hpp"
#include "platforms/given_hosts.hpp"

#include <algorithm>
#include <cctype>

namespace muster {

// Translates torchrun's options of output: files, their layout, prefixes, and the ranks that are shown. Facts:
// torch/distributed/run.py and elastic/multiprocessing of torch 2.13.

namespace {

/// Sets torchrun's layout of log files. An empty --log-dir counts as not given; with /dev/null no file is written and
/// no rank is hidden. muster's own --log-dir keeps muster's layout. Source: DefaultLogsSpecs in
/// torch/distributed/elastic/multiprocessing/api.py.
void translate_logs(Translation& t) {
  const auto folder = t.find("log-dir");
  if (!folder) {
    t.settings.erase("log-dir");
    if (t.line.settings.has("log-dir")) {
      return;
    }
  }
  const bool has_none = folder && folder->value == "/dev/null";
  t.set(kLogLayout, {has_none ? kNoLogs : kTorchrunLogs, default_of("torchrun")});
  if (!has_none) {
    return;
  }
  t.settings.erase("log-dir");
  for (const char* const name :
       {"redirects", "tee", "local-ranks-filter", "duplicate-stdout-filters", "duplicate-stderr-filters"}) {
    t.ignore(name, name, folder->source.name + " is /dev/null, and all goes to the console");
    t.given.erase(name);
  }
}

/// Reads the ranks in the filter as Python reads numbers: blanks around them are allowed.
void translate_filter(Translation& t) {
  const auto ranks = t.find("local-ranks-filter");
  if (!ranks) {
    return;
  }
  std::vector<std::string> pieces = split(ranks->value, ',');
  for (std::string& piece : pieces) {
    piece = find_python_integer(piece).value_or(piece);
  }
  t.set("local-ranks-filter", {join(pieces, ","), ranks->source});
}

void translate_output(Translation& t) {
  if (t.is_whole || t.has("log-dir")) {
    translate_logs(t);
  }
  // Options for which an empty value counts as not given.
  for (const auto& [name, setting] : {std::pair("duplicate-stdout-filters", "duplicate-stdout-filters"),
                                      std::pair("duplicate-stderr-filters", "duplicate-stderr-filters"),
                                      std::pair("log-line-prefix-template", "prefix-template")}) {
    if (const auto text = t.find(name)) {
      t.set(setting, *text);
    }
  }
  translate_filter(t);
  if (t.is_whole) {
    // Adds no prefix in a pipe, since a script may parse the workers' lines there, unless -t asks for it.
    // Source: torch/distributed/elastic/multiprocessing/tail_log.py.
    const auto tee = t.find("tee");
    const bool is_asked_for = tee && !tee->value.empty() && tee->value != "0";
    if (!t.line.settings.has("prefix")) {
      t.set("prefix", {is_asked_for ? "always" : "terminal", default_of("torchrun")});
    }
    if (is_asked_for && !t.line.settings.has("prefix-template") && !t.settings.contains("prefix-template") &&
        !t.snapshot.has("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE")) {
      t.set("prefix-template", {"[${role_name}${local_rank}]:", default_of("torchrun")});
    }
  }
}

// Translates torchrun's options: the nodes, their rendezvous and the script. Facts: torch/distributed/run.py of torch
// 2.13.

const Source kDefaultNodes = {SourceKind::Default, "torchrun's default of --nnodes"};

/// Default port of c10d if the endpoint has none.
constexpr const char* kDynamicPort = "29400";

bool has_accelerators(const HostDevices& devices) {
  return devices.nvidia + devices.ascend + devices.amd + devices.gaudi + devices.neuron_cores + devices.intel +
             devices.tpu >
         0;
}

/// Sets the number of workers: "auto" without accelerators is one for each core.
Result<> translate_workers(Translation& t) {
  const auto wanted = t.find("nproc-per-node");
  if (!wanted) {
    if (t.is_whole) {
      t.set("nproc-per-node", {"1", default_of("torchrun")});
    }
    return {};
  }
  if (wanted->value == "auto" && !has_accelerators(t.snapshot.devices)) {
    t.set("nproc-per-node", {"cpu", wanted->source});
  }
  return {};
}

/// Drops MUSTER_* variables that describe several nodes from a job of one node. They stay if MUSTER_NNODES
/// contradicts a variable of torchrun, which is weaker.
void leave_out_own(Translation& t, const Sourced<std::string>& flag, const char* why) {
  if (t.line.settings.has("nnodes") && flag.source.kind != SourceKind::Flag) {
    return;
  }
  Settings kept;
  t.line.settings.for_each([&](const std::string& name, const Sourced<std::string>& value) {
    if (name == "node-rank" || name == "master-addr" || name == "master-port") {
      t.line.notices.push_back("ignoring " + value.source.name + ": " + why);
    } else {
      kept.set(name, value);
    }
  });
  t.line.settings = std::move(kept);
}

void translate_standalone(Translation& t) {
  const Sourced<std::string> flag = t.given.at("standalone");
  const auto nodes = t.find("nnodes");
  if (nodes && !is_one(nodes->value)) {
    t.ignore("nnodes", "nnodes", "it is '" + nodes->value + "', and with --standalone each node trains by itself");
  }
  constexpr const char* kWhy = "--standalone is one node with a free port";
  for (const auto& [name, setting] :
       {std::pair("rdzv-backend", "master-addr"), std::pair("rdzv-endpoint", "master-addr"),
        std::pair("rdzv-id", "job-id"), std::pair("node-rank", "node-rank"), std::pair("master-addr", "master-addr"),
        std::pair("master-port", "master-port")}) {
    t.ignore(name, setting, kWhy);
  }
  leave_out_own(t, flag, kWhy);
  t.set("nnodes", {"1", flag.source});
  const auto platform = t.line.settings.find("platform");
  t.set("platform", {"single", platform && platform->value == "single" ? platform->source : flag.source});
}

/// Sets torchrun's default of one node if an option describes the nodes and none counts them.
void default_nodes(Translation& t) {
  if (!t.is_whole || t.find("nnodes") || t.line.settings.has("nnodes")) {
    return;
  }
  for (const char* const name : {"rdzv-backend", "rdzv-endpoint", "node-rank", "master-addr"}) {
    if (t.find(name)) {
      t.set("nnodes", {"1", kDefaultNodes});
      return;
    }
  }
}

/// True if the job has one node. Without an option the platform decides.
bool is_one_node(const Translation& t) {
  if (value_at(t.settings, "platform").value == "single") {
    return true;
  }
  const std::string nodes = nodes_of(t);
  if (!nodes.empty()) {
    return is_one(nodes);
  }
  const auto cluster = describe_cluster(t.snapshot, t.line.settings);
  return cluster && cluster->job.most_nodes == 1;
}

/// Sets the port. Port 0 means a free port, which is muster's default.
void set_port(Translation& t, const Sourced<std::string>& port) {
  if (port.value == "0" && is_one_node(t)) {
    t.settings.erase("master-port");
  } else {
    t.set("master-port", port);
  }
}

void translate_torchrun_master(Translation& t) {
  if (const auto address = t.find("master-addr")) {
    const std::string_view bare = without_brackets(address->value);
    t.set("master-addr", {is_version_6(bare) ? std::string(bare) : address->value, address->source});
  }
  if (const auto port = t.find("master-port")) {
    set_port(t, *port);
  }
}

/// Splits an endpoint at the last colon, even for an IPv6 address without brackets, and trims blanks. Source:
/// parse_rendezvous_endpoint of torch/distributed/elastic/rendezvous/utils.py.
Endpoint read_endpoint(const std::string& text) {
  const std::string_view whole = trim(text);
  const std::size_t colon = whole.rfind(':');
  const std::string_view host = trim(whole.substr(0, colon));
  const bool is_bare_address =
      colon != std::string_view::npos && is_numeric_address(host) && host.find(':') != std::string_view::npos;
  Endpoint endpoint =
      is_bare_address ? Endpoint{std::string(host), std::string(whole.substr(colon + 1))} : split_endpoint(whole);
  endpoint.host = trim(endpoint.host);
  if (endpoint.port) {
    endpoint.port = trim(*endpoint.port);
  }
  return endpoint;
}

/// Fails for an invalid host or port, which torchrun refuses at once too.
/// Source: parse_rendezvous_endpoint of torch/distributed/elastic/rendezvous/utils.py.
Result<> check_rendezvous_endpoint(const Sourced<std::string>& text) {
  const Endpoint endpoint = read_endpoint(text.value);
  if (!is_host_or_address(endpoint.host)) {
    const std::string mistake =
        text.value.starts_with('/') ? ", not a file, which muster does not need" : describe_host_mistake(text.value);
    return wrong_value(text, "HOST:PORT, with a name or an address as the host" + mistake);
  }
  if (endpoint.port && !parse_integer(*endpoint.port, 0, kMostPort)) {
    return wrong_value(text, "HOST:PORT, with a number from 0 to 65535 as the port");
  }
  return {};
}

void set_endpoint(Translation& t, const Sourced<std::string>& text, const char* default_port) {
  const Endpoint endpoint = read_endpoint(text.value);
  t.set("master-addr", {endpoint.host, text.source});
  if (endpoint.port || default_port != nullptr) {
    set_port(t, {endpoint.port.value_or(default_port == nullptr ? "" : default_port), text.source});
  }
}

/// Adds a notice if the master's address and port differ from the endpoint, which wins.
void ignore_other_master(Translation& t, const Sourced<std::string>& text) {
  const Endpoint endpoint = read_endpoint(text.value);
  for (const auto& [name, value] :
       {std::pair("master-addr", std::optional(endpoint.host)), std::pair("master-port", endpoint.port)}) {
    const auto given = t.find(name);
    if (given && value && given->value != *value) {
      t.ignore_flag(name, text.source.name + " says where the nodes meet");
    }
  }
}

bool is_about_nodes(const Translation& t) {
  return t.line.settings.has("nnodes") || t.find("nnodes") || t.find("rdzv-backend") || t.find("rdzv-endpoint") ||
         t.find("node-rank") || t.find("master-addr");
}

/// Translates c10d: ranks follow the order of arrival, and only the endpoint counts. One node has no rendezvous.
void translate_dynamic(Translation& t, const Sourced<std::string>& endpoint) {
  constexpr const char* kWhy = "with --rdzv-backend c10d the endpoint counts, and ranks go by arrival";
  const auto rank = t.find("node-rank");
  const bool is_first = rank && rank->value == "0" && !t.line.settings.has("lead");
  for (const char* const name : {"master-addr", "master-port", "node-rank"}) {
    t.ignore(name, name, kWhy);
  }
  if (is_one(nodes_of(t))) {
    drop_stale_variables(t, is_about_nodes(t));
    return;
  }
  set_endpoint(t, endpoint, kDynamicPort);
  if (is_first) {
    t.set("lead", {"reached", rank->source});
  }
  if (t.is_whole && !t.line.settings.has("platform")) {
    t.set("platform", {"flags", t.given.at("rdzv-backend").source});
  }
}

/// True if there are several nodes, and neither the line nor a platform has a rendezvous address.
bool is_meeting_unknown(const Translation& t) {
  const bool is_given = t.find("master-addr") || t.line.settings.has("master-addr") || t.line.settings.has("platform");
  return !is_given && t.is_whole && !is_one(nodes_of(t)) && !find_starter(t.snapshot);
}

Result<> translate_rendezvous(Translation& t) {
  const auto backend = t.find("rdzv-backend").value_or(Sourced<std::string>{"static", default_of("torchrun")});
  const bool is_etcd = backend.value == "etcd" || backend.value == "etcd-v2";
  if (!is_etcd && backend.value != "static" && backend.value != "c10d") {
    return wrong_value(backend, "static, c10d, etcd or etcd-v2");
  }
  default_nodes(t);
  const auto endpoint = t.find("rdzv-endpoint");
  TRY(endpoint && !is_etcd ? check_rendezvous_endpoint(*endpoint) : Result<>());
  if (endpoint && backend.value == "c10d") {
    translate_dynamic(t, *endpoint);
    return {};
  }
  if (endpoint && is_etcd && is_meeting_unknown(t)) {
    return wrong_value(*endpoint,
                       "no etcd server, which muster does not need, but one of the nodes: "
                       "--rdzv-backend c10d --rdzv-endpoint NODE:29400");
  }
  drop_stale_variables(t, is_about_nodes(t));
  translate_torchrun_master(t);
  if (endpoint && is_etcd) {
    t.line.notices.push_back("ignoring " + endpoint->source.name + ": it names an etcd server, and muster needs none");
  } else if (endpoint) {
    ignore_other_master(t, *endpoint);
    set_endpoint(t, *endpoint, nullptr);
  } else if (is_etcd) {
    t.ignore_flag("rdzv-backend", "muster needs no etcd");
  }
  give_port_to_workers(t);
  return {};
}

/// Drops unknown signal names with a warning; if none is left the default signals count.
/// Source: PContext.start of torch/distributed/elastic/multiprocessing/api.py.
void translate_signals(Translation& t) {
  const auto given = t.find("signals-to-handle");
  t.settings.erase("signals-to-handle");
  if (!given) {  // an empty list is one without known names
    return;
  }
  std::vector<std::string> known;
  for (const std::string& piece : split(given->value, ',')) {
    const std::string name(trim(piece));
    if (parse_signal(name)) {
      known.push_back(name);
    } else {
      t.line.notices.push_back("ignoring '" + name + "' in " + given->source.name + ": there is no such signal");
    }
  }
  if (!known.empty()) {
    t.set("signals-to-handle", {join(known, ","), given->source});
  }
}

/// Lets all workers inherit standard input, since a debugger may run in any of them. Other hosts do not get it.
/// Source: torch/distributed/elastic/multiprocessing/subprocess_handler/subprocess_handler.py.
void translate_input(Translation& t) {
  const auto is_set = [&](const char* name) { return t.line.settings.has(name) || t.settings.contains(name); };
  if (!is_set("stdin") && !is_set("hosts") && !is_set("hostfile")) {
    t.set("stdin", {"all", default_of("torchrun")});
  }
}

Result<> translate_script(Translation& t) {
  if (t.has("run-path")) {
    t.settings.erase("no-python");
    t.line.is_python_script = true;
    return {};
  }
  if (t.has("module") && t.has("no-python")) {
    return Error{error_kind(t.given.at("module").source), t.given.at("module").source.name + " and " +
                                                              t.given.at("no-python").source.name +
                                                              " contradict each other: a module is run by Python"};
  }
  if (t.has("module") && !t.line.program.empty()) {
    t.set("module", {t.line.program.front(), t.given.at("module").source});
    t.line.program.erase(t.line.program.begin());
  }
  t.line.is_python_script = t.line.is_python_script || (t.is_whole && !t.has("no-python"));
  return {};
}

/// Sets torchrun's defaults: restarts need no progress, a node that joins later causes one, and the agents serve the
/// store unless a variable says otherwise. Source: _invoke_run of torch/distributed/elastic/agent/server/api.py;
/// use_agent_store of dynamic_rendezvous.py.
void set_defaults(Translation& t) {
  constexpr const char* kUnshared = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE";
  if (t.snapshot.variable(kUnshared) == "1" && !t.line.settings.has("store")) {
    t.set("store", {"worker", from_variable(kUnshared)});
  }
  for (const auto& [name, value] :
       {std::pair("no-progress-limit", "0"), std::pair("scale-up", "now"), std::pair("store", "agent")}) {
    if (!t.line.settings.has(name) && !t.settings.contains(name)) {
      t.set(name, {value, default_of("torchrun")});
    }
  }
}

}  // namespace

Result<> translate_torchrun(Translation& t) {
  TRY(translate_workers(t));
  if (t.has("standalone")) {
    translate_standalone(t);
  } else {
    TRY(translate_rendezvous(t));
  }
  if (const auto conf = t.find("rdzv-conf")) {
    TRY(translate_rendezvous_conf(t, *conf));
  }
  translate_output(t);
  translate_signals(t);
  if (t.is_whole) {
    // Reads torchrun's variable for the grace period, which is weaker than flags and PET_*.
    constexpr const char* kShutdown = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT";
    const auto seconds = t.snapshot.variable(kShutdown);
    if (seconds && !t.settings.contains("grace")) {
      t.set("grace", {*seconds, from_variable(kShutdown)});
    }
    set_defaults(t);
    translate_input(t);
  }
  return translate_script(t);
}

Result<> translate_torch_launch(Translation& t) {
  if (t.has("no-python") && !t.has("use-env")) {
    return Error{error_kind(t.given.at("no-python").source),
                 t.given.at("no-python").source.name + " needs --use-env as well"};
  }
  if (!t.has("use-env")) {
    t.line.worker_arguments.emplace_back("--local-rank={local_rank}");
  }
  return translate_torchrun(t);
}

}  // namespace muster
