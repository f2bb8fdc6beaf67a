// Platform readers for Flux, LSF and PBS, and the rules that make nodes of the hosts of a batch job.
#include "base/text.hpp"
#include "environment/accelerators.hpp"
#include "environment/local_host.hpp"
#include "platforms/host_lists.hpp"
#include "platforms/roles.hpp"
#include "platforms/slots.hpp"

#include <algorithm>
#include <array>

namespace muster {

// Rules that PBS and LSF share: a list of hosts with slots, and a script that runs on the first of them alone.

namespace {

struct BatchHosts {
  SlotList list;
  std::optional<Sourced<int>> started_on;  ///< index of this host, if the batch system started muster here
  std::string advice;                      ///< the command that starts muster on all hosts
  bool is_interactive = false;             ///< a person may start the others
};

/// Position of this host in the list: by its exact name, else by any name or address that means it. Empty where it is
/// missing or ambiguous.
std::optional<int> position_of(const SlotList& list, const Snapshot& snapshot) {
  const auto exactly =
      only_position(list.value, [&](const HostSlots& entry) { return entry.host == snapshot.host_name; });
  return exactly
             ? exactly
             : only_position(list.value, [&](const HostSlots& entry) { return is_this_host(entry.host, snapshot); });
}

/// "PBS_NODEFILE lists 4 hosts, and this is ...".
Error runs_alone(const BatchHosts& hosts, const std::string& where) {
  return Error{ErrorKind::BadEnvironment, hosts.list.source.name + " lists " + std::to_string(hosts.list.value.size()) +
                                              " hosts, and " + where + "; start muster on all of them by " +
                                              hosts.advice + ", or give --nnodes 1 for a job on this host only"};
}

Result<> find_rank(PlatformFacts& facts, const BatchHosts& hosts, const Snapshot& snapshot) {
  const auto own = position_of(hosts.list, snapshot);
  const Sourced<int> by_name{own.value_or(0), part_of(hosts.list.source, " by the host's name")};
  if (hosts.started_on) {
    if (own && *own != hosts.started_on->value) {
      return contradiction(*hosts.started_on, by_name, "both say which of the hosts this is");
    }
    facts.node_rank = hosts.started_on;
  } else if (own && *own > 0) {
    facts.node_rank = by_name;
  } else {
    facts.no_rank = runs_alone(hosts, own ? "this is the first, where the job's script runs alone"
                                          : "this one, '" + snapshot.host_name + "', is not one of them by its name");
    facts.runs_alone = own.has_value();
    facts.may_be_by_hand = hosts.is_interactive;
  }
  return {};
}

/// Makes the hosts the nodes; the first one leads. Any other host is recognised by its name; on the first one, only
/// the variables of the starting program distinguish an agent from the script, which must not run alone. Accelerators
/// override the slots of the list, which stand for cores on many systems.
Result<> apply_batch_hosts(PlatformFacts& facts, const BatchHosts& hosts, const Snapshot& snapshot) {
  const auto& entries = hosts.list.value;
  facts.nodes = {static_cast<int>(entries.size()), hosts.list.source};
  if (entries.size() > 1) {
    TRY(find_rank(facts, hosts, snapshot));
    facts.hosts = hosts_of(hosts.list);
  }
  const int rank = entries.size() == 1 ? 0 : facts.node_rank.value_or(Sourced<int>{-1, {}}).value;
  const bool is_known = rank >= 0 && static_cast<std::size_t>(rank) < entries.size();
  const auto slots = is_known ? entries[static_cast<std::size_t>(rank)].slots : std::nullopt;
  const Sourced<std::string> listed{std::to_string(slots.value_or(1)), hosts.list.source};
  if (slots && count_visible_devices(snapshot) == 0) {
    facts.slots = listed;
  } else if (slots && *slots != count_visible_devices(snapshot)) {
    facts.lost.push_back({"nodes.slots", listed, "accelerators that are there count more"});
  }
  return read_batch_leader(facts, {entries.front().host, hosts.list.source}, snapshot);
}

}  // namespace

Result<> read_batch_leader(PlatformFacts& facts, const Sourced<std::string>& leader, const Snapshot& snapshot) {
  TRY(read_into(facts.master_address, snapshot, "MASTER_ADDR", read_address));
  TRY(read_into(facts.master_port, snapshot, "MASTER_PORT", read_port));
  if (!facts.master_address) {
    facts.master_address = leader;
  }
  if (!facts.master_port && facts.job_id && facts.nodes->value > 1) {
    facts.master_port = {port_of_job(facts.job_id->value), facts.job_id->source};
  }
  return {};
}

// Flux: processes started by `flux run` or `flux submit`. FLUX_JOB_SIZE counts tasks. A single task on each node is
// an agent; several are processes that Flux has placed, as many on every node. Neither the hosts nor the number of
// local tasks is set, and FLUX_TASK_RANK need not be contiguous on a node. In a batch script, which runs on the first
// node alone, none of these is set.
// Source: flux-framework.readthedocs.io, flux-environment(7), flux-hostlist(1).

namespace {

constexpr const char* kAdvice =
    "name that host, by flux run --env=MASTER_ADDR=HOST (the job's first one is $(flux hostlist -l -n 0) where it has "
    "all nodes of its batch job) or --master-addr";

/// Computes the number of tasks on this host: every host has as many.
Result<> read_share(PlatformFacts& facts, const Sourced<int>& hosts, const Snapshot& snapshot) {
  const auto local_rank = TRY(read_variable(snapshot, "FLUX_TASK_LOCAL_ID", read_node_rank));
  if (!local_rank) {
    return {};
  }
  const int tasks = facts.nodes->value;
  const Sourced<int> here{tasks / hosts.value, {hosts.source.kind, "FLUX_JOB_SIZE / FLUX_JOB_NNODES"}};
  if (tasks % hosts.value != 0 || local_rank->value >= here.value) {
    return contradiction(*facts.nodes, hosts,
                         "no variable says how many tasks each node has: start as many on each, or one");
  }
  facts.share = HostShare{*local_rank, here};
  if (hosts.value == 1) {
    facts.share->host_rank = 0;
    facts.share->hosts = 1;
  }
  return {};
}

Result<> read_flux(PlatformFacts& facts, const Snapshot& snapshot) {
  const auto hosts = TRY(read_variable(snapshot, "FLUX_JOB_NNODES", read_node_count));
  if (!hosts) {
    facts.no_nodes = Error{ErrorKind::BadEnvironment,
                           "FLUX_JOB_SIZE is set, but FLUX_JOB_NNODES is not: nothing says how many of its tasks are "
                           "on this host; give --nnodes"};
    facts.nodes.reset();
    return {};
  }
  if (hosts->value > facts.nodes->value) {
    return contradiction(*hosts, *facts.nodes, "each of these nodes has a task at least");
  }
  if (hosts->value < facts.nodes->value) {
    TRY(read_share(facts, *hosts, snapshot));
  }
  return read_meeting_point(facts, snapshot, *sourced_variable(snapshot, "FLUX_JOB_ID"), kAdvice);
}

}  // namespace

const Platform kFlux = {.name = "flux",
                        .sign_text = "FLUX_JOB_SIZE with FLUX_JOB_ID",
                        .signs = {.any = {"FLUX_JOB_SIZE"}, .with = {"FLUX_JOB_ID"}},
                        .variables = {.nodes = {"FLUX_JOB_SIZE"}, .node_rank = {"FLUX_TASK_RANK"}},
                        .read = read_flux,
                        .counts = {"FLUX_JOB_NNODES", "FLUX_JOB_SIZE"}};

// IBM Spectrum LSF. The job's script runs on the first host alone; blaunch starts tasks on all of them and
// numbers these from 1 in LSF_PM_TASKID. Under jsrun (JSM) each task is a process that has been placed, and the
// first host of the list is a launch node that runs none of them. Neither RANK nor WORLD_SIZE is set.
// Source: ibm.com/docs, Spectrum LSF, "Environment variables set for job execution", "blaunch" and "Using IBM
// Job Step Manager"; lightning/fabric/plugins/environments/lsf.py for JSM_NAMESPACE_*.

namespace {

constexpr TaskVariables kTasks = {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK",
                                  "JSM_NAMESPACE_LOCAL_SIZE"};

/// Reads the hosts and slots from the best source: LSB_HOSTS is not set where it would be long.
Result<std::optional<SlotList>> read_hosts(const Snapshot& snapshot) {
  const auto path = sourced_variable(snapshot, "LSB_DJOB_HOSTFILE");
  const auto file = snapshot.files.find(path ? path->value : "");
  const auto pairs = sourced_variable(snapshot, "LSB_MCPU_HOSTS");
  const auto names = sourced_variable(snapshot, "LSB_HOSTS");
  if (path && file != snapshot.files.end()) {
    return std::optional(TRY(read_node_file({file->second, path->source})));
  }
  if (pairs) {
    return std::optional(TRY(read_host_pairs(*pairs)));
  }
  return names ? std::optional(TRY(read_hosts_with_slots(*names))) : std::nullopt;
}

/// Reads tasks of jsrun. Where the hosts are known, the first one behind the launch node leads.
Result<> read_placed(PlatformFacts& facts, const std::optional<SlotList>& list, const Snapshot& snapshot) {
  TRY(read_tasks(facts, snapshot, kTasks));
  // The tasks must fill all hosts behind the launch node: several jsrun may share the hosts of a job, and no variable
  // tells which hosts belong to which.
  const auto hosts = list ? static_cast<long long>(list->value.size()) - 1 : 0;
  const bool is_known = hosts > 0 && facts.nodes->value == hosts * facts.share->local_size.value;
  if (is_known && !snapshot.has("MASTER_ADDR") && !are_all_here(facts)) {
    return read_batch_leader(facts, {list->value[1].host, list->source}, snapshot);
  }
  return read_meeting_point(facts, snapshot, facts.job_id.value_or(Sourced<std::string>{}),
                            "name that host, by jsrun -E MASTER_ADDR=HOST or --master-addr");
}

/// Reads tasks of blaunch: their numbers are those of the hosts where each host has one slot.
Result<> read_lsf_task_host(BatchHosts& hosts, const Snapshot& snapshot) {
  const auto task = TRY(read_variable(snapshot, "LSF_PM_TASKID", read_node_rank));
  if (!task) {
    return {};
  }
  const auto own = position_of(hosts.list, snapshot);
  const int last = static_cast<int>(hosts.list.value.size());
  if (own) {
    hosts.started_on = {*own, part_of(task->source, " by the host's name")};
  } else if (task->value >= 1 && task->value <= last) {
    hosts.started_on = {task->value - 1, task->source};
  }
  return {};
}

Result<> read_lsf(PlatformFacts& facts, const Snapshot& snapshot) {
  auto list = TRY(read_hosts(snapshot));
  if (snapshot.has("JSM_NAMESPACE_SIZE")) {
    return read_placed(facts, list, snapshot);
  }
  if (!list) {
    return {};
  }
  BatchHosts hosts{std::move(*list), {}, "muster --hostfile $LSB_DJOB_HOSTFILE --remote-shell blaunch ..."};
  hosts.is_interactive = snapshot.has("LSB_INTERACTIVE");
  TRY(read_lsf_task_host(hosts, snapshot));
  return apply_batch_hosts(facts, hosts, snapshot);
}

}  // namespace

const Platform kLsf = {
    .name = "lsf",
    .sign_text = "LSB_MCPU_HOSTS, LSB_DJOB_HOSTFILE, LSB_HOSTS or JSM_NAMESPACE_SIZE with LSB_JOBID",
    .signs = {.any = {"JSM_NAMESPACE_SIZE", "LSB_DJOB_HOSTFILE", "LSB_MCPU_HOSTS", "LSB_HOSTS"}, .with = {"LSB_JOBID"}},
    .variables = {.job_id = "LSB_JOBID"},
    .read = read_lsf,
    .counts = {"LSB_DJOB_HOSTFILE", "LSB_MCPU_HOSTS", "LSB_HOSTS", "JSM_NAMESPACE_SIZE"}};

// PBS (OpenPBS, PBS Pro, Torque). PBS_NODEFILE lists the hosts, a line for each slot. The job's script runs on the
// first of them alone: there PBS_TASKNUM is 1. Programs that PBS' task manager starts, for pbsdsh or another one,
// have PBS_NODENUM, the number of their host, and on the first host a PBS_TASKNUM above 1. Neither RANK nor
// WORLD_SIZE is set.
// Source: qsub(1B) and pbsdsh(1B) of Torque; PBS Professional Reference Guide, "Environment Variables".

namespace {

/// Reads this host's number where PBS' task manager started this process.
Result<> read_pbs_task_host(BatchHosts& hosts, const Snapshot& snapshot) {
  const auto task = TRY(read_variable(snapshot, "PBS_TASKNUM", read_node_rank));
  const auto node = TRY(read_variable(snapshot, "PBS_NODENUM", read_node_rank));
  if (node && (node->value > 0 || (task && task->value > 1))) {
    hosts.started_on = node;
  }
  return {};
}

Result<> read_pbs(PlatformFacts& facts, const Snapshot& snapshot) {
  const Sourced<std::string> path = *sourced_variable(snapshot, "PBS_NODEFILE");
  const auto file = snapshot.files.find(path.value);
  if (file == snapshot.files.end()) {
    facts.no_nodes = Error{ErrorKind::BadEnvironment,
                           "PBS_NODEFILE is '" + path.value +
                               "', which cannot be read on this host: start muster on all of them by muster --hostfile "
                               "$PBS_NODEFILE in the job's script, or give --nnodes and --node-rank"};
    facts.remark = "PBS_NODEFILE is '" + path.value +
                   "', which cannot be read on this host; so muster does not compare the command line with what pbs "
                   "knows about this node";
    return {};
  }
  BatchHosts hosts{TRY(read_node_file({file->second, path.source})), {}, "muster --hostfile $PBS_NODEFILE ..."};
  hosts.is_interactive = snapshot.variable("PBS_ENVIRONMENT") == "PBS_INTERACTIVE";
  TRY(read_pbs_task_host(hosts, snapshot));
  return apply_batch_hosts(facts, hosts, snapshot);
}

}  // namespace

const Platform kPbs = {.name = "pbs",
                       .sign_text = "PBS_NODEFILE with PBS_JOBID",
                       .signs = {.any = {"PBS_NODEFILE"}, .with = {"PBS_JOBID"}},
                       .variables = {.job_id = "PBS_JOBID"},
                       .read = read_pbs,
                       .counts = {"PBS_NODEFILE", "PBS_NUM_NODES"}};

}  // namespace muster
