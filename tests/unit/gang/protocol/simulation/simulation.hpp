#pragma once

// A whole job on simulated hosts: one real Leader and real Participants, joined by a network and a
// clock that obey a seed. What the job must never do is checked at every step.

#include "gang/protocol/leader.hpp"
#include "gang/protocol/participant.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster::gang::simulation {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Fault {
  enum class Kind {
    Crash,      ///< the host and everything on it disappear without a word
    KillAgent,  ///< its links close, and the guard ends its workers soon
    CutOff,     ///< nothing reaches the host and nothing leaves it: links are half-open
    CutFrom,    ///< nothing leaves it
    CutTo,      ///< nothing reaches it
    Reset,      ///< its link is closed for both ends
    Sleep,      ///< the agent is stopped
    Signal,     ///< TERM to the agent
    GuardGone
  };
  Kind kind = Kind::Crash;
  int host = 0;
  milliseconds at{0};
  milliseconds lasts{0};                      ///< of a cut, a sleep
  std::optional<milliseconds> returns_after;  ///< of a crash, a killed agent: a new agent comes
};

/// Everything about a run that is not chance on the way.
struct Scenario {
  std::uint64_t seed = 0;
  GangConfig config;
  int ranked = 0;                                   ///< agents of so many hosts know their node ranks
  std::vector<int> slots;                           ///< by host; empty: by chance
  bool has_ports = false;                           ///< every second host reserves one, which tells it from all others
  bool has_fences = false;                          ///< nodes bring values together while they run
  std::size_t fence_bytes = 0;                      ///< at least, of each part
  std::vector<std::optional<milliseconds>> starts;  ///< of the agents, by host; empty: never
  std::vector<Fault> faults;
  milliseconds grace{10'000};     ///< between asking workers to end and killing them
  double failures = 0;            ///< how likely a node fails in an attempt
  double stubborn = 0;            ///< how likely workers ignore that they are asked to end
  double port_failures = 0;       ///< how likely there is no port for an attempt
  double late_inputs = 0;         ///< how likely an agent is not ready at first, or before a restart
  double no_inputs = 0;           ///< how likely such an agent never is
  double stalls = 0;              ///< how likely an agent is late to say that its workers ended
  double unkillable = 0;          ///< how likely workers survive everything
  milliseconds run_time{10'000};  ///< of an attempt
  milliseconds skew{1'000};       ///< between the first success and the last
  milliseconds most_latency{20};  ///< of a message
};

/// A small job with all kinds of trouble.
Scenario random_scenario(std::uint64_t seed);

/// A job of many nodes, some spares, and a handful of faults.
Scenario large_scenario(std::uint64_t seed, int hosts);

struct Finding {
  std::vector<std::string> violations;
  std::vector<std::string> log;             ///< the last lines, if they were kept
  std::vector<std::optional<JobEnd>> ends;  ///< by host; empty: its last agent did not live to tell
  int attempts = 0;
  std::uint64_t fences = 0;  ///< results that nodes got while they ran
  std::uint64_t events = 0;
  std::uint64_t messages = 0;  ///< from the leader, without beats
  double simulated_seconds = 0;
};

Finding play(const Scenario& scenario, bool keeps_log);

}  // namespace muster::gang::simulation
