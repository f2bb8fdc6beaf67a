// Lists torchrun's options, of torch 2.13 and later, with the keys of its --rdzv-conf, and what each becomes.
#include "base/lists.hpp"
#include "base/text.hpp"
#include "compat/compat_launcher.hpp"

#include <algorithm>
#include <array>

namespace muster {

namespace {

using enum OptionSupport;

constexpr auto kTorchrunOptions = std::to_array<CompatOption>({
    {"nnodes", '\0', "N", Better,
     "N or MIN:MAX. If the line does not give the number of nodes, the platform gives it; torchrun would "
     "take 1.",
     "nnodes"},
    {"nproc-per-node", '\0', "N", Same,
     "A number, auto, gpu, cpu, npu or xpu. Default: 1. With cpu, muster counts only the cores that the job may use.",
     "nproc-per-node", "auto gpu cpu npu xpu"},
    {"rdzv-backend", '\0', "NAME", Better,
     "static: the line or the platform gives the ranks. c10d: nodes get their ranks in the order in which they arrive, "
     "and the node with the endpoint's address leads. etcd, etcd-v2: the nodes meet at --master-addr or where the "
     "platform says, and muster needs no etcd.",
     nullptr, "static c10d etcd etcd-v2"},
    {"rdzv-endpoint", '\0', "HOST[:PORT]", Better,
     "Where the nodes meet. In a job of one node muster needs no such place, so two jobs on one machine "
     "never use the same port."},
    {"rdzv-id", '\0', "NAME", Better, "The job's name. muster refuses an agent that names another job.", "job-id"},
    {"rdzv-conf", '\0', "KEY=VALUE,...", Better,
     "muster understands each key, whatever the backend is, and names a key that it does not know."},
    {"standalone", '\0', nullptr, Same,
     "The job has one node and a free port. muster ignores other options, and the platform, if they say "
     "how many nodes there are or where they meet."},
    {"max-restarts", '\0', "N", Better,
     "The number applies to the whole job and not to each agent; all nodes restart together.", "max-restarts"},
    {"monitor-interval", '\0', "SECONDS", Ignored, "muster does not poll; it sees at once that a worker ends"},
    {"start-method", '\0', "NAME", Ignored, "muster starts each worker as a separate program", nullptr,
     "spawn fork forkserver", true},
    {"event-log-handler", '\0', "NAME", Ignored, "this option names Python code; --report FILE writes what happened"},
    {"role", '\0', "NAME", Same,
     "muster sets ROLE_NAME to this name. ROLE_RANK and ROLE_WORLD_SIZE count only the workers of nodes with the same "
     "name.",
     "set:role_name"},
    {"module", 'm', nullptr, Same, "The script is the name of a Python module."},
    {"no-python", '\0', nullptr, Same, "muster executes the script directly, without Python.", "no-python"},
    {"run-path", '\0', nullptr, Better,
     "Python runs the script. The path may be relative, and the process of the script loads no modules of torchrun."},
    {"log-dir", '\0', "DIR", Same,
     "The folder for the files of -r and -t, and for error files. They have torchrun's names: <run "
     "id>_<random>/attempt_0/0/stdout.log, stderr.log and error.json.",
     "log-dir"},
    {"redirects", 'r', "WHAT", Better, "muster also understands local ranks of several digits, such as 0:1,11:2.",
     "redirects"},
    {"tee", 't', "WHAT", Better, "Choose local ranks as with -r. muster always writes whole lines.", "tee"},
    {"local-ranks-filter", '\0', "RANKS", Same, "Shows only these local ranks on the console."},
    {"duplicate-stdout-filters", '\0', "WORDS", Same,
     "muster also writes lines of standard output that contain one of the words to a separate file."},
    {"duplicate-stderr-filters", '\0', "WORDS", Same,
     "muster also writes lines of standard error that contain one of the words to a separate file."},
    {"node-rank", '\0', "R", Better,
     "Without this option, muster takes the rank from the platform. With c10d and an endpoint muster ignores this "
     "option, as torchrun does.",
     "node-rank"},
    {"master-addr", '\0', "HOST", Same, "You may write an IPv6 address with or without brackets."},
    {"master-port", '\0', "PORT", Same, "Default: 29500 for several nodes, a free port for one node.", "master-port"},
    {"local-addr", '\0', "HOST", Ignored,
     "the leader sees the address from which a node connects, so no node needs to give its address"},
    {"logs-specs", '\0', "NAME", Same,
     "muster accepts only the value default, the only value that torchrun itself has. Other values name Python code.",
     nullptr, "default", true, false},
    {"numa-binding", '\0', "HOW", Better,
     "muster binds the workers by system calls. It needs no numactl, and the accelerator may be of any kind.",
     "numa-binding", "node socket exclusive core-complex", true, false},
    {"signals-to-handle", '\0', "SIGNALS", Better,
     "These signals end the job, from its start on. If the list does not name USR1, USR2 and WINCH, "
     "muster passes them on.",
     "signals-to-handle"},
    {"shutdown-timeout", '\0', "SECONDS", Better,
     "The time between SIGTERM and SIGKILL, for whatever reason muster stops the workers; fractions are allowed. "
     "Without this option muster reads TORCH_ELASTIC_SHUTDOWN_TIMEOUT. Default: 30.",
     "grace"},
    {"exit-barrier-timeout", '\0', "SECONDS", Ignored,
     "no node waits for the others at the end: each node reports its end in a message"},
    {"virtual-local-rank", '\0', nullptr, Same, "Each worker sees one accelerator and LOCAL_RANK=0.",
     "virtual-local-rank"},
    {"log-line-prefix-template", '\0', "TEXT", Same,
     "The text at the beginning of each line on the console. Without this option muster reads "
     "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE."},
});

}  // namespace

std::span<const CompatOption> torchrun_options() {
  return kTorchrunOptions;
}

std::span<const CompatOption> torch_launch_options() {
  // The options of torchrun, and --use-env.
  static constexpr auto kOptions = [] {
    std::array<CompatOption, kTorchrunOptions.size() + 1> options{};
    std::ranges::copy(kTorchrunOptions, options.begin());
    options.back() = {
        "use-env", '\0',    nullptr, Same, "muster gives the script no --local-rank; LOCAL_RANK is always set.",
        nullptr,   nullptr, false,   false};
    return options;
  }();
  return kOptions;
}

// Translates torchrun's --rdzv-conf. Each backend of torchrun reads some of the keys and silently ignores the others:
// c10d ignores the `timeout` that many users pass. Here each key means what its name says.

namespace {

const CompatOption* find_key(std::string_view name) {
  return first_of(rendezvous_keys(), [&](const CompatOption& key) { return name == key.name; });
}

std::string unknown_key(const std::string& source, const std::string& name) {
  const auto names = mapped(rendezvous_keys(), [](const CompatOption& key) { return std::string(key.name); });
  const auto nearest = nearest_name(name, names);
  return "ignoring " + name + " in " + source + ": torchrun knows no such key" +
         (nearest ? "; did you mean " + *nearest + "?" : "");
}

/// Removes quotes that a shell line has once too often: "--rdzv-conf='timeout=5'" is in PyTorch's own tests.
std::string_view without_quotes(std::string_view text) {
  text = trim(text);
  const bool is_quoted =
      text.size() > 1 && text.front() == text.back() && (text.front() == '\'' || text.front() == '"');
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

using Values = std::map<std::string, Sourced<std::string>>;

Result<Values> read_values(Translation& t, const Sourced<std::string>& text) {
  Values values;
  const std::string_view pairs = without_quotes(text.value);
  if (pairs.empty()) {
    return values;
  }
  for (const std::string& piece : split(pairs, ',')) {
    const std::size_t equals = piece.find('=');
    const std::string name(trim(std::string_view(piece).substr(0, equals)));
    const std::string value(equals == std::string::npos ? "" : trim(std::string_view(piece).substr(equals + 1)));
    if (name.empty() || value.empty()) {
      return wrong_value(text, "KEY=VALUE,KEY=VALUE such as timeout=1800");
    }
    const CompatOption* const key = find_key(name);
    if (key == nullptr) {
      t.line.notices.push_back(unknown_key(text.source.name, name));
    } else if (key->support == Ignored) {
      t.line.notices.push_back("ignoring " + name + " in " + text.source.name + ": " + key->note);
    } else {
      const bool is_flag = text.source.kind == SourceKind::Flag;
      values[name] = {value, is_flag ? part_of(text.source, " " + name) : text.source};
    }
  }
  return values;
}

/// Translates is_host. All nodes may set it, as with torchrun, whose clients connect to the endpoint anyway.
/// Source: get_as_bool of torch/distributed/elastic/rendezvous/api.py.
Result<> translate_is_host(Translation& t, const Sourced<std::string>& value) {
  const auto is_host = parse_boolean(value.value);
  if (!is_host) {
    return wrong_value(value, "1, true, 0 or false");
  }
  t.set("lead", {*is_host ? "reached" : "never", value.source});
  return {};
}

/// Multiplies interval and attempts, within the limits of --heartbeat-timeout.
Result<> translate_keep_alive(Translation& t, const Values& values) {
  constexpr int kMostSeconds = 3600;
  long long product = 1;
  std::optional<Source> source;
  for (const auto& [name, otherwise] : {std::pair("keep_alive_interval", 5), std::pair("keep_alive_max_attempt", 3)}) {
    const auto value = values.find(name);
    product *= TRY(value == values.end() ? Result<int>(otherwise)
                                         : read_number_within(value->second, 1, kMostSeconds, "a number"));
    source = value == values.end() ? source : std::optional(value->second.source);
  }
  if (source) {
    const long long most = kMostSeconds;
    t.set("heartbeat-timeout", {std::to_string(std::min(product, most)), *source});
  }
  return {};
}

}  // namespace

Result<> translate_rendezvous_conf(Translation& t, const Sourced<std::string>& text) {
  const auto values = TRY(read_values(t, text));
  const auto backend = t.find("rdzv-backend");
  const bool is_dynamic = backend && backend->value == "c10d";
  for (const char* const name : {is_dynamic ? "timeout" : "join_timeout", is_dynamic ? "join_timeout" : "timeout",
                                 "last_call_timeout"}) {  // the stronger one is last
    if (const auto value = values.find(name); value != values.end()) {
      t.set(find_key(name)->setting, value->second);
    }
  }
  if (const auto is_host = values.find("is_host"); is_host != values.end() && is_dynamic) {
    TRY(translate_is_host(t, is_host->second));
  }
  return translate_keep_alive(t, values);
}

// The keys of torchrun's --rdzv-conf for all its backends, and what each becomes.

namespace {

// The common reason of options for etcd.
constexpr const char* kNoEtcd = "muster needs no etcd";

constexpr auto kKeys = std::to_array<CompatOption>({
    {"timeout", '\0', "SECONDS", Better,
     "How long muster waits for all nodes. It also counts with c10d, but there join_timeout takes precedence.",
     "gang-timeout"},
    {"join_timeout", '\0', "SECONDS", Better,
     "Does the same as timeout. It also counts with static, but there timeout takes precedence.", "gang-timeout"},
    {"last_call_timeout", '\0', "SECONDS", Same, "How long muster waits for more nodes after MIN nodes have come.",
     "last-call"},
    {"keep_alive_interval", '\0', "SECONDS", Better,
     "muster multiplies this value (default: 5) by keep_alive_max_attempt (default: 3). If a node is silent for longer "
     "than the product, it is lost, and the other nodes end at once.",
     "heartbeat-timeout"},
    {"keep_alive_max_attempt", '\0', "N", Better, "See above.", "heartbeat-timeout"},
    {"close_timeout", '\0', "SECONDS", Ignored, "muster closes a rendezvous at once"},
    {"heartbeat_timeout", '\0', "SECONDS", Ignored,
     "a heartbeat of muster is a message, not a call that could take long"},
    {"read_timeout", '\0', "SECONDS", Ignored,
     "a node tries to reach the leader for as long as muster waits for all nodes"},
    {"is_host", '\0', "WHETHER", Same,
     "Counts only with c10d. True: this node leads if the endpoint leads to it, also through a Service or a published "
     "port. False: this node never leads. Without this key, the node that has the endpoint's address and port leads.",
     "lead"},
    {"store_type", '\0', "tcp", Ignored, "the agents of muster meet without a store"},
    {"use_libuv", '\0', "WHETHER", Ignored, "the agents of muster meet without a store"},
    {"cas_backoff_max_seconds", '\0', "SECONDS", Ignored, "the agents of muster write no common state"},
    {"rank", '\0', "R", Ignored, "torchrun itself replaces this value by --node-rank"},
    {"protocol", '\0', "NAME", Ignored, kNoEtcd},
    {"ssl_cert", '\0', "FILE", Ignored, kNoEtcd},
    {"ssl_cert_key", '\0', "FILE", Ignored, kNoEtcd},
    {"ca_cert", '\0', "FILE", Ignored, kNoEtcd},
    {"cert", '\0', "FILE", Ignored, kNoEtcd},
    {"key", '\0', "FILE", Ignored, kNoEtcd},
    {"cacert", '\0', "FILE", Ignored, kNoEtcd},
    {"etcd_prefix", '\0', "PATH", Ignored, kNoEtcd},
});

}  // namespace

std::span<const CompatOption> rendezvous_keys() {
  return kKeys;
}

}  // namespace muster
