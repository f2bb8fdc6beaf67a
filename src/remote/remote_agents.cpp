// Encodes an agent's order as frames, builds the remote shell's command line, and chooses the variables and the plan
// of each node.
#include "remote/remote_agents.hpp"

#include "base/endpoint.hpp"
#include "base/text.hpp"
#include "compat/compat_launcher.hpp"
#include "environment/local_host.hpp"
#include "options/syntax.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

namespace muster {
namespace {

constexpr char kBetween = '\0';  // no option contains it, because options come from a command line

bool read_setting(CommandLine& line, const std::string& bytes) {
  const std::size_t first = bytes.find(kBetween);
  const std::size_t second = first == std::string::npos ? first : bytes.find(kBetween, first + 1);
  if (second == std::string::npos || second < first + 2) {
    return false;
  }
  const int kind = bytes[first + 1] - '0';
  if (kind < 0 || kind > static_cast<int>(SourceKind::Assumed)) {
    return false;
  }
  line.settings.set(
      bytes.substr(0, first),
      {bytes.substr(second + 1), {static_cast<SourceKind>(kind), bytes.substr(first + 2, second - first - 2)}});
  return true;
}

bool read_variable(std::map<std::string, std::string>& variables, const std::string& bytes) {
  const std::size_t equals = bytes.find('=');
  if (equals == std::string::npos || equals == 0) {
    return false;
  }
  variables.insert_or_assign(bytes.substr(0, equals), bytes.substr(equals + 1));
  return true;
}

template <auto kMember>
bool take_text(AgentOrder& order, const std::string& bytes) {
  order.*kMember = bytes;
  return !bytes.empty();
}

template <auto kMember>
bool take_width(AgentOrder& order, const std::string& bytes) {
  constexpr int kWidest = 65'535;
  const auto columns = parse_integer(bytes, 0, kWidest);
  order.terminals.*kMember = columns ? std::optional(static_cast<std::size_t>(*columns)) : std::nullopt;
  return columns.has_value();
}

template <auto kMember>
bool add_word(AgentOrder& order, const std::string& bytes) {
  (order.line.*kMember).push_back(bytes);
  return true;
}

/// A kind of frame and its parser, which returns false for invalid bytes.
struct Field {
  const char* kind;
  bool (*take)(AgentOrder& order, const std::string& bytes);
};

constexpr auto kFields = std::to_array<Field>({
    {"muster", take_text<&AgentOrder::version>},
    {"host", take_text<&AgentOrder::host>},
    {"first", [](AgentOrder& order, const std::string& /*bytes*/) { return order.is_first = true; }},
    {"nonce", take_text<&AgentOrder::nonce>},
    {"folder", take_text<&AgentOrder::working_directory>},
    {"out-columns", take_width<&Terminals::out>},
    {"error-columns", take_width<&Terminals::error>},
    {"variable", [](AgentOrder& order, const std::string& bytes) { return read_variable(order.variables, bytes); }},
    {"setting", [](AgentOrder& order, const std::string& bytes) { return read_setting(order.line, bytes); }},
    {"program", add_word<&CommandLine::program>},
    {"argument", add_word<&CommandLine::worker_arguments>},
    {"python", [](AgentOrder& order, const std::string& /*bytes*/) { return order.line.is_python_script = true; }},
    {"command",
     [](AgentOrder& order, const std::string& bytes) {
       order.line.compat = find_compat(bytes);
       return order.line.compat != nullptr;
     }},
});

constexpr const char* kStart = "start";

}  // namespace

std::string write_order(const AgentOrder& order) {
  std::string text;
  const auto add = [&](const char* kind, const std::string& bytes) { text += write_frame({kind, bytes}); };
  add("muster", order.version);
  add("host", order.host);
  add("nonce", order.nonce);
  add("folder", order.working_directory);
  for (const auto& [name, value] : order.variables) {
    add("variable", std::string(name).append("=").append(value));
  }
  if (order.is_first) {
    add("first", "");
  }
  if (order.terminals.out) {
    add("out-columns", std::to_string(*order.terminals.out));
  }
  if (order.terminals.error) {
    add("error-columns", std::to_string(*order.terminals.error));
  }
  const CommandLine& line = order.line;
  line.settings.for_each([&](const std::string& name, const Sourced<std::string>& setting) {
    // With its source, so that messages of the agent name the user's own option or variable.
    const char kind = static_cast<char>('0' + static_cast<int>(setting.source.kind));
    add("setting", name + kBetween + kind + setting.source.name + kBetween + setting.value);
  });
  for (const std::string& word : line.program) {
    add("program", word);
  }
  for (const std::string& argument : line.worker_arguments) {
    add("argument", argument);
  }
  if (line.is_python_script) {
    add("python", "");
  }
  if (line.compat != nullptr) {
    add("command", line.compat->name);
  }
  add(kStart, "");
  return text;
}

Result<bool> add_frame(AgentOrder& order, const Frame& frame) {
  if (frame.kind == kStart) {
    return true;
  }
  for (const Field& field : kFields) {
    if (frame.kind == field.kind && field.take(order, frame.bytes)) {
      return false;
    }
  }
  return Error{ErrorKind::BadData, "the launcher of the job, muster " + order.version + ", sends '" +
                                       one_line(frame.kind, 40) + "', which this muster cannot read"};
}

// The command line for a remote shell. All values that differ between jobs go over standard input instead, so the
// line contains nothing that a shell could misread.

namespace {

/// Options for OpenSSH: the first value of an option counts, so the user's own, which come first, win. A host counts
/// as lost after 30 s without an answer.
constexpr auto kSshOptions =
    std::to_array<const char*>({"-T", "-x", "-oBatchMode=yes", "-oControlMaster=no", "-oConnectTimeout=15",
                                "-oServerAliveInterval=10", "-oServerAliveCountMax=3"});

/// True when every character stands for itself within single quotes in every shell.
bool is_plain(const std::string& path) {
  return std::all_of(path.begin(), path.end(), [](char c) {
    return c > ' ' && c < '\x7f' && std::string_view("'\"\\!$`").find(c) == std::string_view::npos;
  });
}

}  // namespace

Result<RemoteShell> read_remote_shell(const Sourced<std::string>& text) {
  auto words = TRY(split_words(text));
  if (words.empty() || words.front().empty()) {
    return wrong_value(text, "a command such as 'ssh -p 2222'");
  }
  return RemoteShell{std::move(words), text.source};
}

RemoteShell plain_ssh() {
  return {{"ssh"}, {}};
}

/// Runs a step on each node; --overlap lets it share all resources of the job with other steps.
RemoteShell slurms_srun() {
  return {
      {"srun", "--overlap", "--nodes=1", "--ntasks=1", "--nodelist={host}", "--cpu-bind=none", "--quiet", "sh", "-c"},
      from_variable("SLURM_JOB_ID")};
}

std::vector<std::string> command_line_of(const RemoteShell& shell, const std::string& host,
                                         const std::string& command) {
  std::vector<std::string> line = shell.words;
  bool is_filled = false;
  for (std::string& word : line) {
    is_filled = replace_all(word, kHostPlace, host) || is_filled;
  }
  const std::string& program = shell.words.front();
  if (program.substr(program.rfind('/') + 1) == "ssh" && !is_filled) {
    line.insert(line.end(), kSshOptions.begin(), kSshOptions.end());
  }
  if (!is_filled) {
    line.push_back(host);
  }
  line.push_back(command);
  return line;
}

std::string agent_command(const std::string& own_path) {
  const std::string in_path = std::string("exec muster ") + kAgentOption;
  if (own_path.empty() || !is_plain(own_path)) {
    return "exec sh -c '" + in_path + "'";
  }
  return "exec sh -c 'if test -x \"" + own_path + "\"; then exec \"" + own_path + "\" " + kAgentOption + "; fi; " +
         in_path + "'";
}

// The variables that are forwarded by default; docs/hosts.md lists them.

namespace {

/// Variables for program search, communication libraries, frameworks, and keys of services. Variables that belong to
/// one host are excluded: visible devices, addresses, places of interfaces.
constexpr auto kUsual = std::to_array<std::string_view>({
    "PATH",
    "LD_LIBRARY_PATH",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "LANG",
    "LC_*",
    "PYTHON*",
    "NCCL_*",
    "RCCL_*",
    "HCCL_*",
    "GLOO_*",
    "UCX_*",
    "FI_*",
    "MV2_*",
    "TORCH_*",
    "PYTORCH_*",
    "CUDA_HOME",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_DEVICE_ORDER",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "ASCEND_*_PATH",
    "ASCEND_GLOBAL_*",
    "ASCEND_LAUNCH_BLOCKING",
    "TASK_QUEUE_ENABLE",
    "MS_*",
    "GLOG_*",
    "TF_*",
    "XLA_*",
    "JAX_*",
    "DS_*",
    "OMP_*",
    "MKL_*",
    "KMP_*",
    "HF_*",
    "TRANSFORMERS_*",
    "TOKENIZERS_*",
    "WANDB_*",
    "MLFLOW_*",
});

/// Variables that identify one process or host, so they are wrong on any other.
constexpr auto kOwnOfHost = std::to_array<std::string_view>({
    "TF_CONFIG",
    "HCCL_IF_IP",
    "MS_ROLE",
    "MS_NODE_ID",
    "MS_WORKER_IP",
    "MS_WORKER_NUM",
    "MS_SCHED_HOST",
    "MS_SCHED_PORT",
    "JAX_PROCESS_ID",
    "JAX_NUM_PROCESSES",
    "JAX_COORDINATOR_ADDRESS",
});

constexpr std::string_view kNone = "none";
constexpr std::string_view kOwn = "MUSTER_";

bool is_name(std::string_view text) {
  return !text.empty() && text != "*" && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '*' || c == '.' || c == '-';
  });
}

}  // namespace

std::span<const std::string_view> usual_variables() {
  return kUsual;
}

Result<std::vector<std::string>> read_forwarding(const std::optional<Sourced<std::string>>& given) {
  std::vector<std::string> names(kUsual.begin(), kUsual.end());
  if (!given) {
    return names;
  }
  std::vector<std::string> wanted = split(given->value, ',');
  if (!wanted.empty() && wanted.front() == kNone) {
    names.clear();
    wanted.erase(wanted.begin());
  } else if (wanted.empty()) {
    return wrong_value(*given, "names of variables such as MY_KEY,MY_APP_*, or none");
  }
  for (const std::string& name : wanted) {
    if (!is_name(name) || std::count(name.begin(), name.end(), '*') > 1) {
      return wrong_value(*given, "names of variables such as MY_KEY,MY_APP_*, or none");
    }
    names.push_back(name);
  }
  return names;
}

std::map<std::string, std::string> choose_variables(const std::map<std::string, std::string>& variables,
                                                    const std::vector<std::string>& names) {
  std::map<std::string, std::string> chosen;
  for (const auto& variable : variables) {
    const std::string& name = variable.first;
    const bool is_own = std::find(kOwnOfHost.begin(), kOwnOfHost.end(), name) != kOwnOfHost.end();
    const bool is_wanted = std::any_of(names.begin(), names.end(), [&](const std::string& pattern) {
      return is_own ? name == pattern : matches_pattern(name, pattern);
    });
    if (is_wanted && !name.starts_with(kOwn)) {
      chosen.insert(variable);
    }
  }
  return chosen;
}

// The order of each agent and the plan of the remote shells. Pure.

namespace {

/// True when no remote shell is needed. One that the user has chosen is always used.
bool is_here(const FanOut& fan_out, const GivenHost& host) {
  return host.is_here && fan_out.shell.source.kind == SourceKind::Default;
}

/// Address of the leader. "localhost" would lead each other host to itself.
std::string leader_of(const FanOut& fan_out) {
  const GivenHost& first = fan_out.hosts.value.front();
  const auto given = fan_out.order.line.settings.find("master-addr");
  return given ? given->value : is_loopback(first.host) ? fan_out.local_host : first.host;
}

/// True when the slots of the host list count, which the user's own number of workers overrides.
bool are_slots_of_list(const AgentOrder& order, const GivenHost& host) {
  const auto given = order.line.settings.find("nproc-per-node");
  return host.slots && (!given || given->value == "auto");
}

/// Number of workers on this host; 0: the agent counts its accelerators.
int slots_of(const FanOut& fan_out, const GivenHost& host) {
  if (are_slots_of_list(fan_out.order, host)) {
    return *host.slots;
  }
  const auto given = fan_out.order.line.settings.find("nproc-per-node");
  return given ? parse_integer(given->value, 1, std::numeric_limits<int>::max()).value_or(0) : 0;
}

/// "a,b", by node rank.
std::string names_of(const std::vector<GivenHost>& hosts) {
  std::vector<std::string> names(hosts.size());
  std::ranges::transform(hosts, names.begin(), &GivenHost::host);
  return join(names, ",");
}

/// Port of the leader; empty: there is only one agent.
std::optional<std::uint16_t> port_of(const FanOut& fan_out) {
  const auto given = fan_out.order.line.settings.find("master-port");
  const auto port = given ? parse_integer(given->value, 1, kMostPort) : std::nullopt;
  const bool is_needed = given || fan_out.hosts.value.size() > 1;
  return is_needed ? std::optional(static_cast<std::uint16_t>(port.value_or(kUsualPort))) : std::nullopt;
}

WorkerPlan plan_shell(const FanOut& fan_out, std::size_t node) {
  const GivenHost& host = fan_out.hosts.value[node];
  WorkerPlan shell;
  shell.role = "node";
  shell.global_rank = GlobalRank{static_cast<int>(node)};
  shell.local_rank = LocalRank{static_cast<int>(node)};
  shell.role_rank = static_cast<int>(node);
  shell.label = host.host;
  shell.argv = is_here(fan_out, host) ? std::vector<std::string>{"/bin/sh", "-c", fan_out.command}
                                      : command_line_of(fan_out.shell, host.login, fan_out.command);
  shell.working_directory = fan_out.order.working_directory;
  return shell;
}

}  // namespace

AgentOrder order_of(const FanOut& fan_out, std::size_t node) {
  AgentOrder order = fan_out.order;
  const std::vector<GivenHost>& hosts = fan_out.hosts.value;
  order.host = hosts[node].host;
  order.is_first = node == 0;
  const auto set = [&](const char* name, const std::string& value) {
    order.line.settings.set(name, {value, fan_out.hosts.source});
  };
  set("platform", "flags");
  set("nnodes", std::to_string(hosts.size()));
  set("node-rank", std::to_string(node));
  if (!order.line.settings.has("master-addr") && hosts.size() > 1) {
    set("master-addr", leader_of(fan_out));
  }
  set(kHostsOfNodes, names_of(hosts));
  if (are_slots_of_list(order, hosts[node])) {
    set("nproc-per-node", std::to_string(*hosts[node].slots));
  }
  if (!hosts[node].devices.empty()) {
    order.line.settings.set(
        "devices", {join(hosts[node].devices, ","), part_of(fan_out.hosts.source, ", devices of " + order.host)});
  }
  return order;
}

LaunchPlan make_launcher_plan(const FanOut& fan_out) {
  const std::vector<GivenHost>& hosts = fan_out.hosts.value;
  LaunchPlan plan;
  Cluster& cluster = plan.cluster;
  Placement& placement = plan.placement;
  cluster.platform = "flags";
  plan.mode = "fan-out";
  placement.nodes = static_cast<int>(hosts.size());
  cluster.node.rank = NodeRank{0};
  plan.world_size = 0;
  placement.master_address = leader_of(fan_out);
  cluster.master_port = port_of(fan_out);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    cluster.hosts.emplace_back(hosts[i].host);
    cluster.slots.push_back(slots_of(fan_out, hosts[i]));
    plan.world_size += cluster.slots.back();
    plan.workers.push_back(plan_shell(fan_out, i));
  }
  const auto leader = fan_out.order.line.settings.find("master-addr");
  const std::string& source = fan_out.hosts.source.name;
  const std::string shell = join(fan_out.shell.words, " ");
  cluster.decisions = {{"platform", cluster.platform, source},
                       {"nodes.count", std::to_string(placement.nodes), source},
                       {"rendezvous.address", placement.master_address, leader ? leader->source.name : source},
                       {"remote_shell", shell, fan_out.shell.source.name}};
  const bool needs_shell =
      std::any_of(hosts.begin(), hosts.end(), [&](const GivenHost& host) { return !is_here(fan_out, host); });
  plan.notices.push_back("starting " + count_of(hosts.size(), "node") +
                         (needs_shell ? " with '" + shell + "'" : " here") + ", leader " + placement.master_address);
  return plan;
}

}  // namespace muster
