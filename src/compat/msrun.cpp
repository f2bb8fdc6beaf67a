// Lists msrun's options, of MindSpore 2.3 to 2.10, and translates them into settings.
// Facts: mindspore/parallel/cluster/run.py and process_entity/_api.py.
#include "base/endpoint.hpp"
#include "base/text.hpp"
#include "compat/compat_launcher.hpp"
#include "compat/stale_variables.hpp"
#include "environment/local_host.hpp"
#include "options/readers.hpp"
#include "platforms/platform.hpp"

#include <array>

namespace muster {
namespace {

using enum OptionSupport;

constexpr auto kMsrunOptions = std::to_array<CompatOption>({
    {"worker_num", '\0', "N", Better,
     "Number of workers of the job. Default: 8. The nodes may have different numbers of workers.", "total-workers"},
    {"local_worker_num", '\0', "N", Same,
     "Number of workers on this node. Default: 8. If this number is equal to --worker_num, the job has "
     "one node.",
     "nproc-per-node"},
    {"master_addr", '\0', "HOST", Better,
     "A host name, an IPv4 or IPv6 address, or the name of a service. Without this option, muster takes the address "
     "from the platform."},
    {"master_port", '\0', "PORT", Better,
     "MindSpore's scheduler listens at this port, and the agents meet at the next port. Without this option, the "
     "agents meet at 8118 and the scheduler takes a free port, so that two jobs do not clash."},
    {"node_rank", '\0', "R", Better,
     "With -1, or without this option, the platform gives the rank, else the order in which the nodes arrive. In both "
     "cases muster knows the ranks before the workers start."},
    {"log_dir", '\0', "DIR", Better,
     "The folder for scheduler.log and worker_<rank>.log. Default: the current folder. <rank> counts over the whole "
     "job, so nodes can share the folder.",
     "log-dir"},
    {"join", '\0', "WHETHER", Better,
     "muster always waits for the workers, because with False nobody would see a failure. muster also accepts true and "
     "false.",
     nullptr, "True False true false", true},
    {"cluster_time_out", '\0', "SECONDS", Better,
     "How long muster and MindSpore wait for all nodes. A negative number means a year.", "set:cluster_time_out"},
    {"bind_core", '\0', "HOW", Better, "True, False or a JSON object. muster binds the workers by system calls.",
     "bind-core", "True False"},
    {"bind_numa", '\0', "HOW", Better,
     "True, False, a JSON object or a file. muster binds the workers by system calls, and needs no numactl.",
     "bind-numa", "True False"},
    {"sim_level", '\0', "LEVEL", Same,
     "muster makes a dry run on this node, without a scheduler. Without this option muster reads MS_SIMULATION_LEVEL, "
     "and then RANK_SIZE takes precedence over --worker_num.",
     "set:sim_level", "-1 0 1 2 3", true},
    {"sim_rank_id", '\0', "R", Same,
     "The only rank of a dry run, below --worker_num. With -1, or without this option, RANK_ID names it; else the run "
     "has all ranks of this node."},
    {"rank_table_file", '\0', "FILE", Better,
     "A rank table of any form. muster waits for the file, and gives the workers a copy of it in RANK_TABLE_FILE."},
    {"worker_log_name", '\0', "NAME", Same,
     "The name of a worker's log file, before _<rank>.log. {ip} and {hostname} stand for the address and the name of "
     "this node."},
    {"tail_worker_log", '\0', "RANKS", Better,
     "The console shows only the lines of these ranks of the job; -1 means all ranks. muster writes whole lines with "
     "their rank, and starts no process of tail."},
});

}  // namespace

std::span<const CompatOption> msrun_options() {
  return kMsrunOptions;
}

// Translates msrun's options: the number of workers, the nodes and the script.
// Facts: mindspore/parallel/cluster/process_entity/_api.py.

namespace {

constexpr const char* kDefaultWorkers = "8";
constexpr const char* kDefaultPort = "8118";

/// A year in seconds stands for "wait infinitely": the gang always has a timeout, but no job waits that long.
constexpr const char* kYear = "31536000";

/// msrun's limit for the number of simulated workers.
constexpr int kMostSimulated = 128;

Sourced<std::string> or_default(const Translation& t, const std::string& name, const char* value) {
  return t.find(name).value_or(Sourced<std::string>{value, default_of("msrun")});
}

Result<int> read_count(const Sourced<std::string>& text) {
  return read_integer(text, 1, 10'000'000, "a number of workers of at least 1");
}

/// The option's value; empty for -1, which means "not given" to several options of msrun.
std::optional<Sourced<std::string>> find_set(const Translation& t, const std::string& name) {
  const auto value = t.find(name);
  return value && value->value == "-1" ? std::nullopt : value;
}

struct Workers {
  int total = 0;
  int local = 0;
};

/// Sets the number of nodes: there is one if all workers of the job are local.
Result<> translate_nodes(Translation& t, const Workers& workers) {
  t.ignore_flag("sim-rank-id", "it needs --sim_level");
  const Sourced<std::string> total = or_default(t, "worker-num", kDefaultWorkers);
  const Sourced<std::string> local = or_default(t, "local-worker-num", kDefaultWorkers);
  if (workers.local > workers.total) {
    return contradiction({local.value, {local.source.kind, "--local_worker_num"}},
                         {total.value, {total.source.kind, "--worker_num"}},
                         "there are no more workers here than in the job");
  }
  t.set("nproc-per-node", local);
  t.set("total-workers", total);
  if (const auto address = t.find("master-addr")) {
    t.set("master-addr", {std::string(without_brackets(address->value)), address->source});
  }
  const auto port = t.find("master-port");
  if (port) {
    t.set("worker-port", *port);
    t.set("master-port", *port);
  }
  const auto rank = find_set(t, "node-rank");
  if (workers.local == workers.total) {
    t.set("nnodes", {"1", t.find("worker-num") ? local.source : total.source});
    if (rank && rank->value != "0") {
      t.ignore("node-rank", "node-rank", "all workers of the job are on this node");
    }
    return {};
  }
  if (rank) {
    t.set("node-rank", *rank);
  }
  if (!port) {
    t.set("master-port", {kDefaultPort, default_of("msrun")});
  }
  return {};
}

/// Fails for a simulated rank that is not below the size of the job.
Result<> check_played_rank(const Sourced<std::string>& rank, const Sourced<std::string>& size) {
  const int number = TRY(read_integer(rank, 0, 10'000'000, "a rank such as 0, or -1 for all of this node"));
  if (number < *parse_integer(size.value, 1, 10'000'000)) {
    return {};
  }
  const bool is_default = size.source.kind == SourceKind::Default;
  return contradiction(rank, {size.value, {size.source.kind, is_default ? "--worker_num" : size.source.name}},
                       "a rank must be below its count");
}

/// Sets up a dry run: processes know the size of the job but do not connect.
Result<> translate_simulation(Translation& t, const Sourced<std::string>& level, const Workers& workers) {
  for (const char* const name : {"master-addr", "master-port", "node-rank"}) {
    t.ignore_flag(name, "a dry run meets no other node");
  }
  t.set("mode", {"msrun-simulation", level.source});
  t.set("set:sim_level", level);
  // Size of the simulated job. If a variable asks for the dry run, RANK_SIZE may hold the size.
  const auto exported = find_set(t, "sim-level") ? std::nullopt : find_given(t.snapshot, "RANK_SIZE");
  const Sourced<std::string> size = exported ? *exported : or_default(t, "worker-num", kDefaultWorkers);
  TRY(read_count(size));
  t.set("set:worker_num", size);
  t.settings.erase("total-workers");
  t.settings.erase("set:cluster_time_out");  // a dry run has no cluster
  t.set("nnodes", {"1", level.source});
  t.set("nproc-per-node", or_default(t, "local-worker-num", kDefaultWorkers));
  const auto given = find_set(t, "sim-rank-id");
  auto rank = given ? given : find_given(t.snapshot, "RANK_ID");
  if (!rank && workers.local > kMostSimulated) {
    t.line.notices.push_back("starting one process for rank 0, as msrun does: --local_worker_num is above " +
                             std::to_string(kMostSimulated));
    rank = Sourced<std::string>{"0", from_flag("--local_worker_num")};
  }
  if (!rank) {
    return {};
  }
  TRY(check_played_rank(*rank, size));
  t.set("set:sim_rank_id", *rank);
  t.set("nproc-per-node", {"1", rank->source});
  return {};
}

/// Translates --tail_worker_log: turns global ranks, as msrun numbers them, into local ranks of this node.
Result<> translate_tail(Translation& t, const Workers& workers) {
  const auto ranks = find_set(t, "tail-worker-log");
  const auto node = find_set(t, "node-rank");
  if (!ranks) {
    return {};
  }
  if (workers.local != workers.total && !node) {
    t.line.notices.push_back("taking " + ranks->source.name +
                             " as local ranks: without --node_rank the others go by arrival");
    t.set("local-ranks-filter", *ranks);
    return {};
  }
  const int node_rank =
      node && workers.local != workers.total ? parse_integer(node->value, 0, 1'000'000).value_or(0) : 0;
  std::vector<std::string> here;
  for (const std::string& piece : split(ranks->value, ',')) {
    const auto rank = parse_integer(trim(piece), 0, 10'000'000);
    if (!rank) {
      return wrong_value(*ranks, "ranks separated by commas, such as 0,3, or -1 for all");
    }
    const long long local = *rank - static_cast<long long>(node_rank) * workers.local;
    if (local >= 0 && local < workers.local) {
      here.push_back(std::to_string(local));
    }
  }
  if (here.empty()) {  // log files only
    t.settings.erase("tee");
    t.set("redirects", {"3", ranks->source});
  } else {
    t.set("local-ranks-filter", {join(here, ","), ranks->source});
  }
  return {};
}

/// Writes both streams of a worker into one file.
void translate_msrun_logs(Translation& t) {
  if (!t.find("log-dir")) {
    t.set("log-dir", {".", default_of("msrun")});
  }
  t.set("tee", {"3", default_of("msrun")});
  if (const auto name = t.find("worker-log-name")) {
    std::string text = name->value;
    replace_all(text, "{hostname}", t.snapshot.host_name);
    if (text.find("{ip}") != std::string::npos) {
      replace_all(text, "{ip}", local_end_towards(or_default(t, "master-addr", "127.0.0.1").value).address);
    }
    t.set("set:worker_log_name", {text, name->source});
  }
  if (const auto table = t.find("rank-table-file")) {
    t.set("set:rank_table_file", *table);
  }
}

}  // namespace

Sourced<std::string> gang_timeout_of(const Sourced<std::string>& seconds) {
  return {seconds.value.starts_with('-') ? kYear : seconds.value, seconds.source};
}

Result<> translate_msrun(Translation& t) {
  const Sourced<std::string> total = or_default(t, "worker-num", kDefaultWorkers);
  const Sourced<std::string> local = or_default(t, "local-worker-num", kDefaultWorkers);
  const auto workers = Workers{TRY(read_count(total)), TRY(read_count(local))};
  const auto given = find_set(t, "sim-level");
  const auto level = given ? given : find_given(t.snapshot, "MS_SIMULATION_LEVEL");
  t.settings.erase("set:sim_level");  // -1 means none
  TRY(level ? translate_simulation(t, *level, workers) : translate_nodes(t, workers));
  if (const auto seconds = t.find("cluster-time-out")) {
    t.set("gang-timeout", gang_timeout_of(*seconds));
  }
  translate_msrun_logs(t);
  TRY(translate_tail(t, workers));
  // Without --join, msrun returns at once.
  const auto join = t.find("join");
  if (!join) {
    t.line.notices.emplace_back("waiting for the workers; msrun without --join=True would not wait");
  } else if (join->value == "False" || join->value == "false") {
    t.line.notices.push_back("waiting for the workers in spite of " + join->source.name + "=" + join->value +
                             ": somebody must see when one fails");
  }
  // Any other word than the name of a program is a script for Python.
  const std::string first = t.line.program.empty() ? "" : t.line.program.front();
  t.line.is_python_script = first != "python" && first != "python3" && first != "pytest";
  return {};
}

}  // namespace muster
