#pragma once

// A leader of the simulation's own, for values that no muster exchanges: a gang without workers.

#include "gang/gang.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace muster::scale {

/// A node that does nothing at the gang's requests.
class IdleNode : public gang::NodeActions {
 public:
  void act(const gang::StartAttempt& /*wanted*/) override {}
  void act(const gang::Value& /*exchanged*/) override {}
  void act(const gang::StopAttempt& /*wanted*/) override {}
  void act(const gang::PassSignal& /*wanted*/) override {}
  void act(const gang::KillAttempt& /*wanted*/) override {}
  void act(const gang::SuspendNotice& /*notice*/) override {}
  void act(const gang::StatusQuery& /*wanted*/) override {}
  void act(const gang::StatusReport& /*status*/) override {}
  void act(const gang::KeepBadNode& /*wanted*/) override {}
  void act(const gang::Hung& /*hung*/) override {}
  void act(const gang::StallBegun& /*stall*/) override {}
  void renew_lease(const gang::Lease& /*lease*/) override {}
  [[nodiscard]] Result<AttemptPorts> reserve_ports() override { return AttemptPorts{}; }
};

/// Values that the nodes exchange before each start.
struct Values {
  int bytes = 0;               ///< of each agent; 0: nothing
  bool has_all_parts = false;  ///< everybody gets the parts of all; else a digest of them
  int devices = 0;             ///< instead: of each agent, and everybody gets one rank table of them

  bool has_any() const { return bytes > 0 || devices > 0; }
};

gang::ExchangeKeys exchange_keys(const Values& values);

/// So many bytes that no compression makes smaller, others for each node; or its devices.
gang::Contributed contribution_of(int node, const Values& values);

/// The job as all simulated nodes know it.
gang::GangConfig simulated_config(int agents, int node, std::uint16_t port);

/// This program as such a leader.
std::vector<std::string> leader_command(int agents, std::uint16_t port, const Values& values, bool is_encrypted);

/// Leads a job of so many agents and itself: a first attempt until it is told to stop, a second one that
/// succeeds at once. Returns the exit code.
int lead(int agents, std::uint16_t port, const Values& values, std::shared_ptr<const gang::GangKey> key);

}  // namespace muster::scale
