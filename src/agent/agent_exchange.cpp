// What this node tells the others before the start, and under which names nodes tell each other things at all.
#include "agent/agent.hpp"
#include "agent/descriptors.hpp"

#include "gang/net/proof.hpp"
#include "exchange/exchanged_fences.hpp"
#include "exchange/exchanged_ports.hpp"
#include "exchange/exchanged_rank_table.hpp"
#include "exchange/exchanged_route.hpp"
#include "exchange/exchanged_secret.hpp"
#include "exchange/exchanged_ssh.hpp"

namespace muster {

/// What is the same as before is not said again.
Result<> Agent::contribute_table() {
  std::string bytes = table_.contribution();
  return bytes.empty() ? Result<>()
                       : gang_.contribute({rank_table_key().name, std::move(bytes), {}});
}

/// What the nodes of a job bring together: a line for each key.
gang::GangSetup Agent::setup_with_keys() const {
  gang::GangSetup setup = input_.job.gang;
  const LinkCapacity room = room_for_links(input_.job);
  setup.policy.most_links = room.nodes;
  setup.most_strangers = room.strangers;
  setup.policy.keys = {ports_key(),
                       rank_table_key(),
                       route_key(),
                       pmix_fence_key(),
                       ssh_keys_key(),
                       job_secret_key(),
                       ways_key()};
  return setup;
}

/// What this node contributes before the start: the ports that workers listen on, which are the same
/// for all attempts, and its part of a rank table that the nodes make.
Result<> Agent::contribute() {
  if (auto contributed = contribute_table(); !contributed) {
    return contributed;
  }
  if (input_.job.may_need(&LaunchPlan::needs_secret)) {
    gang_.contribute({job_secret_key().name, gang::random_digits(), {}}).value();  // it fits
  }
  auto ports = ports_.contribution(input_.options.host_name);
  if (!ports) {
    return ports.error();
  }
  auto contributed =
      ports->empty() ? Result<>() : gang_.contribute({ports_key().name, std::move(*ports), {}});
  std::string ways = ways_.contribution();
  return !contributed || ways.empty() ? contributed
                                      : gang_.contribute({ways_key().name, std::move(ways), {}});
}

}  // namespace muster
