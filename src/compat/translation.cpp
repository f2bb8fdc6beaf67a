// What the options of `accelerate launch` mean together. Its launcher calls that of torch with what it was told, and so
// is it here. Facts: accelerate/commands/launch.py and accelerate/utils/launch.py of accelerate 1.15.
#include "compat/host_placing.hpp"
#include "compat/environment.hpp"

#include "base/text.hpp"
#include "platforms/cluster.hpp"
#include "platforms/given_hosts.hpp"
#include "environment/accelerators.hpp"

#include <limits>

namespace muster {
namespace {

using accelerate::Launch;

constexpr const char* kDefaultPort = "29500";

std::optional<int> read_count(const std::string& text) {
  return parse_integer(text, 1, std::numeric_limits<int>::max());
}

Result<> check_count(const std::optional<Sourced<std::string>>& text, int least) {
  return !text || parse_integer(text->value, least, std::numeric_limits<int>::max())
             ? Result<>()
             : wrong_value(*text, least == 0 ? "a number" : "a number above 0");
}

bool is_one_machine(const Translation& t) {
  const auto machines = t.find("num-machines");
  return machines && machines->value == "1";
}

/// DeepSpeed's filters of a hostfile.
Settings chosen_hosts(const Translation& t) {
  const auto included = t.find("deepspeed-inclusion-filter");
  const auto excluded = t.find("deepspeed-exclusion-filter");
  Settings choice;
  if (included || excluded) {
    choice.set(excluded ? kExcludedHosts : kIncludedHosts, excluded ? *excluded : *included);
  }
  return choice;
}

/// A hostfile, where it is for us to start its hosts.
Result<> translate_hostfile(Translation& t, const Launch& launch) {
  const auto file = t.find(launch.is_deepspeed ? "deepspeed-hostfile" : "mpirun-hostfile");
  if (!file || is_one_machine(t)) {
    return {};
  }
  const auto launcher = t.find("deepspeed-multinode-launcher");
  const Settings choice = chosen_hosts(t);
  const bool is_by_itself = launch.is_deepspeed && launcher &&
                            (launcher->value == "standard" || launcher->value == "nossh");
  if (auto settled = is_by_itself ? Result<>() : settle_starter(t, *file, choice); !settled) {
    return settled;
  }
  const auto starter = find_starter(t);
  if (is_by_itself || starter) {
    t.line.notices.push_back("ignoring " + file->source.name + ": " +
                             (starter ? starter->platform + " starts muster on each node"
                                      : "with " + launcher->source.name + " " + launcher->value +
                                            " each node is started by itself"));
    return {};
  }
  t.set("hostfile", *file);
  choice.for_each(
      [&](const std::string& name, const Sourced<std::string>& value) { t.set(name, value); });
  return {};
}

/// torch's launcher calls these otherwise. One machine has no rank, and meets nobody.
void rename_options(Translation& t) {
  const auto give = [&](const char* theirs, const char* torchs) {
    if (const auto value = t.find(theirs)) {
      t.given[torchs] = *value;
      t.set(torchs, *value);
    }
  };
  const auto address = t.find("main-process-ip");
  const auto port = t.find("main-process-port");
  const auto backend = t.find("rdzv-backend");
  if (t.settings.contains("hostfile")) {
    give("main-process-port", "master-port");
    return;
  }
  give("num-machines", "nnodes");
  if (is_one_machine(t)) {
    give("main-process-port", "master-port");
    return;
  }
  give("machine-rank", "node-rank");
  if (address && backend && backend->value == "c10d" && !t.is_on("same-network")) {
    t.given["rdzv-endpoint"] = {address->value + ":" + (port ? port->value : kDefaultPort),
                                address->source};
    return;
  }
  give("main-process-ip", "master-addr");
  give("main-process-port", "master-port");
}

/// The nodes of the job, as far as they are known here.
int count_machines(const Translation& t) {
  const auto given = t.find("num-machines");
  const auto translated = t.settings.find("nnodes");
  const auto platform = t.settings.find("platform");
  if (given) {
    return read_count(given->value).value_or(1);
  }
  if (translated != t.settings.end()) {
    return read_count(translated->second.value).value_or(1);
  }
  if (platform != t.settings.end() && platform->second.value == "single") {
    return 1;
  }
  const auto cluster = describe_cluster(t.snapshot, t.line.settings);
  return cluster ? cluster->job.most_nodes : 1;
}

/// Does the launcher start several processes? It looks at what the accelerators' drivers see; where none is seen here, as of a
/// kind that muster does not know, the number that was asked for counts.
bool is_simple(const Translation& t, const Launch& launch, int machines) {
  if (launch.is_distributed() || machines > 1 || t.settings.contains("hostfile")) {
    return false;
  }
  const auto processes = t.find("num-processes");
  const int wanted = processes ? read_count(processes->value).value_or(1) : 1;
  if (launch.is_multi_cpu || launch.is_cpu) {
    const bool is_asked =
        launch.is_multi_cpu || (processes && processes->source.kind == SourceKind::Flag);
    return wanted == 1 || !is_asked;
  }
  const int devices = count_visible_devices(t.snapshot);
  if (launch.has_file) {
    return true;
  }
  return processes ? wanted == 1 || devices == 1 : devices < 2;
}

/// One process that is no rank.
void translate_simple(Translation& t) {
  const auto processes = t.find("num-processes");
  const Source source = processes ? processes->source : default_of("accelerate launch");
  t.set("mode", {"accelerate-single", source});
  t.set("nproc-per-node", {"1", source});
  const int wanted = processes ? read_count(processes->value).value_or(1) : 1;
  if (wanted > 1) {
    t.line.notices.push_back("starting one process and not the " + processes->value + " of " +
                             processes->source.name +
                             ", as accelerate launch does here: --multi_gpu starts them all");
  }
}

/// The number of processes is that of all machines, which have the same share each.
Result<> translate_processes(Translation& t, int machines) {
  const auto processes = t.find("num-processes");
  if (!processes) {
    t.set("nproc-per-node", {"auto", default_of("accelerate launch")});
    return {};
  }
  const int share = read_count(processes->value).value_or(0) / machines;
  if (share == 0) {
    return wrong_value(
        *processes,
        "at least one process for each of the " + std::to_string(machines) + " machines");
  }
  if (share * machines != read_count(processes->value)) {
    t.line.notices.push_back(processes->source.name + " is " + processes->value +
                             ", of which each of the " + std::to_string(machines) +
                             " machines starts " + std::to_string(share) +
                             ", as with accelerate launch");
  }
  t.set("nproc-per-node", {std::to_string(share), processes->source});
  return {};
}

/// What the file of an option says, the user says to muster.
void take_file_for_given(Translation& t) {
  for (auto& [name, value] : t.settings) {
    if (value.source.kind == SourceKind::File) {
      value.source.kind = SourceKind::Option;
    }
  }
}

Result<> check_counts(const Translation& t) {
  for (const auto& [name, least] : {std::pair("num-processes", 0),
                                    std::pair("num-machines", 1),
                                    std::pair("num-cpu-threads-per-process", 1)}) {
    if (auto checked = check_count(t.find(name), least); !checked) {
      return checked;
    }
  }
  return {};
}

}  // namespace

Result<> translate_accelerate(Translation& t) {
  const auto launch = accelerate::read_launch(t);
  if (!launch) {
    return launch.error();
  }
  if (auto checked = check_counts(t); !checked) {
    return checked;
  }
  if (auto hosts = translate_hostfile(t, *launch); !hosts) {
    return hosts;
  }
  rename_options(t);
  if (auto translated = translate_torchrun(t); !translated) {
    return translated;
  }
  const int machines = count_machines(t);
  const bool is_one = is_simple(t, *launch, machines);
  if (is_one) {
    translate_simple(t);
  } else if (auto translated = translate_processes(t, machines); !translated) {
    return translated;
  }
  auto exported = accelerate::export_environment(t, *launch, is_one);
  take_file_for_given(t);
  return exported;
}

}  // namespace muster
