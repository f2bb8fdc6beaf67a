// The options of `colossalai run`, of ColossalAI 0.5, and what becomes of each.
// Facts: colossalai/cli/launcher/__init__.py.
#include "compat/front_end.hpp"

#include <array>

namespace muster {
namespace {

constexpr const char* kHosts =
    "The hosts are started, through ssh. Where the platform starts each node, it is ignored.";

constexpr CompatOption option(
    const char* name, char letter, const char* argument, OptionSupport fate, const char* note) {
  return {name, letter, argument, fate, note};
}

constexpr CompatOption behind_one_dash(CompatOption row, const char* same_as) {
  row.has_one_dash = true;
  row.same_as = same_as;
  return row;
}

constexpr CompatOption naming_program(CompatOption row) {
  row.has_one_dash = true;
  row.names_program = true;
  return row;
}

constexpr auto kTable = std::to_array<CompatOption>({
    option("host", 'H', "HOSTS", OptionSupport::Same, kHosts),
    behind_one_dash(option("host", '\0', "HOSTS", OptionSupport::Same, "As --host."), "host"),
    option("hostfile",
           '\0',
           "FILE",
           OptionSupport::Better,
           "A host on each line. They are started, through ssh; where it may list the nodes that a "
           "platform starts, it is ignored."),
    option("include",
           '\0',
           "HOSTS",
           OptionSupport::Same,
           "Hosts of the hostfile, in their order here."),
    option("exclude", '\0', "HOSTS", OptionSupport::Same, "All hosts of the hostfile but these."),
    option("num_nodes", '\0', "N", OptionSupport::Same, "So many of the hosts of the hostfile."),
    option("nproc_per_node",
           '\0',
           "N",
           OptionSupport::Better,
           "Workers on each node, one for each accelerator if it is not given."),
    option("master_addr",
           '\0',
           "HOST",
           OptionSupport::Same,
           "Where the nodes meet, the first host if it is not given."),
    option("master_port", '\0', "PORT", OptionSupport::Same, "Where the workers meet."),
    option("extra_launch_args",
           '\0',
           "NAME=VALUE,...",
           OptionSupport::Same,
           "Options of torchrun, which count more than those above."),
    option("ssh-port", '\0', "PORT", OptionSupport::Same, "As --remote-shell 'ssh -p PORT'."),
    naming_program(option("m", 'm', "MODULE", OptionSupport::Same, "Run a Python module.")),
});

}  // namespace

std::span<const CompatOption> colossalai_options() {
  return kTable;
}

}  // namespace muster
