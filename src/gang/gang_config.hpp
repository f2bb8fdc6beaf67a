#pragma once

// What a user may say about the nodes of a job together.

#include "gang/exchange_values.hpp"
#include "gang/net/token.hpp"
#include "platforms/facts.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster::gang {

/// How the job starts again, and when it gives up. The leader's values decide.
struct RestartPolicy {
  int max_restarts = 0;
  std::optional<std::chrono::milliseconds> window;  ///< older restarts do not count; empty: all do
  std::chrono::milliseconds backoff{1'000};         ///< before the second restart in a row
  int no_progress_limit = 3;                        ///< attempts in a row; 0: off
  std::string progress_file;                        ///< empty: progress shows in how attempts fail
};

/// What follows when a rank ends with 0 while others work on.
enum class OnEarlyExit {
  Wait,
  Fail
};

/// When nodes that come while the job runs, and for which it has room, take part.
enum class ScaleUp {
  AtRestart,  ///< when it starts again for another reason
  Now         ///< it starts again for them
};

/// The choice of a leader. Jobs of one node lead themselves and listen on nothing.
enum class Lead {
  Never,             ///< another agent does
  Always,            ///< this agent has node rank 0
  IfAddressIsLocal,  ///< whoever owns the address and gets the port
  /// The same, and this agent once one of the job reaches it through an address that no node owns: a Service's, or a published one.
  IfReached
};

/// How the agents of a job meet, stay together, restart and end.
struct GangOptions {
  std::chrono::milliseconds timeout{900'000};          ///< until the gang is complete
  std::chrono::milliseconds inputs_timeout{600'000};   ///< for files that somebody else writes
  std::chrono::milliseconds last_call{30'000};         ///< for more nodes, once the least are here
  std::chrono::milliseconds heartbeat_timeout{8'000};  ///< silence that means loss
  RestartPolicy restarts;
  std::chrono::milliseconds suspend_timeout{60'000};  ///< for saving, after a notice
  ScaleUp scale_up = ScaleUp::AtRestart;
  std::optional<Lead> lead;  ///< empty: the node rank decides, and without one who owns the address
  OnEarlyExit on_early_exit = OnEarlyExit::Wait;
  /// How long ranks may go on after the first one ended with 0; empty: without limit.
  std::optional<std::chrono::milliseconds> early_exit_timeout;
  std::string token_file;  ///< holds the token; empty: there is none, or it is in `token`
  std::string token;       ///< a secret: never shown, never given to a worker
};

// What an agent goes by, whether it leads or not: known before the nodes meet.

struct GangConfig {
  JobFacts job;    ///< must be the same on all nodes
  NodeFacts node;  ///< this one
  GangOptions options;
  std::string version;    ///< of the program, for messages
  std::string host;       ///< where the gang meets: name or address
  std::string host_from;  ///< who says so, for messages
  std::uint16_t port = 0;
  std::vector<std::optional<std::string>> hosts;  ///< by node rank, where the platform names them
  ExchangeKeys keys;                              ///< under which nodes contribute; the same on all nodes
  std::string waits_for;                          ///< inputs of this node that are not here yet; empty: it is ready
  /// Of a leader, to other nodes and to spares: so many as it has descriptors for.
  std::size_t most_links = std::numeric_limits<std::size_t>::max();
  int earlier_runs = 0;      ///< of the job, as this node knows; the leader's count
  std::string last_verdict;  ///< of the last of them; empty: nobody knows
  std::uint64_t seed = 0;    ///< of this agent: spreads the dials of thousands of agents
};

/// How an agent takes part in its job.
struct GangSetup {
  Lead lead = Lead::Always;
  std::shared_ptr<const GangKey> key;  ///< empty: links are not encrypted
  GangConfig policy;
  std::size_t most_strangers = 64;  ///< links that a leader keeps with those who do not belong to the job
};

}  // namespace muster::gang
