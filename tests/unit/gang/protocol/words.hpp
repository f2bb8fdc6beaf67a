#pragma once

// Messages and actions of the gang in words, so that a test reads as a scenario.

#include "gang/protocol/leader.hpp"
#include "gang/protocol/participant.hpp"

#include <random>
#include <string>

namespace muster::gang {

/// Bytes that no compression makes smaller; for each size the same ones.
inline std::string random_bytes(std::size_t size) {
  std::mt19937_64 random(size);
  std::string bytes(size, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(random());
  }
  return bytes;
}

inline std::string words_of(const JobEnd& end) {
  static constexpr const char* kNames[] = {"succeeded", "failed", "stopped", "incomplete", "lost", "hung", "suspended"};
  return std::string(kNames[static_cast<std::size_t>(end.verdict)]) + " " + std::to_string(end.exit_code);
}

/// "admitted as node 1", "start 0 as node 1 of 2, slots 2 of 4", "finish: lost 69".
/// "ports for 0: bytes", "fence 3 of 0: bytes".
inline std::string words_of(const Chunk& chunk) {
  return chunk.id.key + (chunk.id.round ? " " + std::to_string(*chunk.id.round) + " of " : std::string(" for ")) +
         std::to_string(chunk.id.attempt) + ": " + chunk.bytes;
}

inline std::string words_of(const Message& message) {
  struct Words {
    std::string operator()(const Join& join) const {
      return "join" + (join.node.rank ? " as node " + to_string(*join.node.rank) : "");
    }
    std::string operator()(const InputStatus& preparing) const {
      return "preparing: " + (preparing.waits_for.empty() ? "ready" : preparing.waits_for);
    }
    std::string operator()(const Heartbeat&) const { return "beat"; }
    std::string operator()(const Failed& failed) const { return "failed " + std::to_string(failed.attempt); }
    std::string operator()(const Succeeded& succeeded) const {
      return "succeeded " + std::to_string(succeeded.attempt);
    }
    std::string operator()(const AttemptOver& ended) const { return "ended " + std::to_string(ended.attempt); }
    std::string operator()(const StopFromAgent& asked) const {
      return "stop asked by " + signal_name(asked.signal) + (asked.is_urgent ? ", now" : "");
    }
    std::string operator()(const SuspendRequested& asked) const {
      return (asked.is_withdrawn ? "notice withdrawn: " : "suspend asked: ") + asked.source;
    }
    std::string operator()(const WorkSaved& saved) const { return "saved: " + saved.process; }
    std::string operator()(const StatusQuery& asked) const { return "status asked " + std::to_string(asked.number); }
    std::string operator()(const StatusReport& report) const {
      return "status " + std::to_string(report.number) + ", " + std::to_string(report.missing) +
             " missing: " + report.text;
    }
    std::string operator()(const Announce& announce) const {
      return "announce: " + announce.text + (announce.begins_stall ? ", for " + describe_ranks(announce.ranks) : "");
    }
    std::string operator()(const Hung& hung) const { return "hung: " + hung.why; }
    std::string operator()(const Suspend& suspend) const {
      return suspend.notice.is_withdrawn ? "go on after all"
                                         : "suspend within " + std::to_string(suspend.notice.within.count()) + " ms";
    }
    std::string operator()(const Admitted& admitted) const {
      return admitted.seat
                 ? "admitted as node " + to_string(*admitted.seat)
                 : std::string("admitted as a spare") + (admitted.runs_without_it ? " of a job that runs" : "");
    }
    std::string operator()(const Refused& refused) const {
      return (refused.may_retry ? "refused for now: " : "refused: ") + refused.reason;
    }
    std::string operator()(const Waiting&) const { return "waiting"; }
    std::string operator()(const Contribute& contribute) const { return "contribute " + words_of(contribute.chunk); }
    std::string operator()(const Merged& merged) const { return "merged " + words_of(merged.chunk); }
    std::string operator()(const Start& start) const {
      return "start " + std::to_string(start.placement.attempt) + " as node " + to_string(start.placement.node_rank) +
             " of " + std::to_string(start.placement.nodes) + ", slots " +
             std::to_string(start.placement.slots_before) + " of " + std::to_string(start.placement.slots_total);
    }
    std::string operator()(const Stop& stop) const {
      return "stop " + std::to_string(stop.attempt) + " by " + signal_name(stop.signal) +
             (stop.is_urgent ? ", now" : "") +
             (stop.most_grace ? " within " + std::to_string(stop.most_grace->count()) + " ms" : "") +
             (stop.end ? ", the end is " + words_of(*stop.end) : "");
    }
    std::string operator()(const Finish& finish) const { return "finish: " + words_of(finish.end); }
  };
  return std::visit(Words{}, message);
}

/// An action of the leader; empty for a log line.
inline std::string words_of(const LeaderAction& action) {
  struct Words {
    std::string operator()(const SendTo& sent) const {
      std::string links;
      for (const LinkId link : sent.links) {
        links += (links.empty() ? "" : ",") + std::to_string(link);
      }
      return links + ": " + words_of(sent.message);
    }
    std::string operator()(const Drop& drop) const { return "drop " + std::to_string(drop.link); }
    std::string operator()(const ReservePort&) const { return "reserve port"; }
    std::string operator()(const LookUpHosts& wanted) const {
      std::string names;
      for (const std::string& name : wanted.names) {
        names += " " + name;
      }
      return "look up" + names;
    }
    std::string operator()(const LogLine&) const { return {}; }
    std::string operator()(const KeepBadNode& bad) const { return "keep " + bad.machine + ": " + bad.reason; }
    std::string operator()(const GangClosed&) const { return "dissolve"; }
  };
  return std::visit(Words{}, action);
}

/// An action of an agent; empty for a log line.
inline std::string words_of(const ParticipantAction& action) {
  struct Words {
    std::string operator()(const Dial&) const { return "dial"; }
    std::string operator()(const SendToLeader& tell) const { return "tell " + words_of(tell.message); }
    std::string operator()(const CloseLink&) const { return "hang up"; }
    std::string operator()(const StartAttempt& wanted) const {
      return "start workers of " + std::to_string(wanted.start.placement.attempt);
    }
    std::string operator()(const Value& value) const { return "deliver " + value.id.key + ": " + value.bytes; }
    std::string operator()(const StopAttempt& stop) const {
      return "stop workers by " + signal_name(stop.signal) +
             (stop.most_grace ? " within " + std::to_string(stop.most_grace->count()) + " ms" : "");
    }
    std::string operator()(const SuspendNotice& notice) const {
      return notice.is_withdrawn ? "tell workers to go on" : "tell workers of a notice from " + notice.source;
    }
    std::string operator()(const Hung& hung) const { return "end those that hang: " + hung.why; }
    std::string operator()(const StallBegun& stall) const { return "a stall begins: " + describe_ranks(stall.ranks); }
    std::string operator()(const StatusQuery& wanted) const {
      return "describe status " + std::to_string(wanted.number);
    }
    std::string operator()(const StatusReport& status) const { return "status of a node: " + status.text; }
    std::string operator()(const PassSignal& pass) const { return "pass " + signal_name(pass.signal); }
    std::string operator()(const KillAttempt&) const { return "kill workers"; }
    std::string operator()(const LogLine&) const { return {}; }
    std::string operator()(const Leave& leave) const { return "leave: " + words_of(leave.end); }
  };
  return std::visit(Words{}, action);
}

/// "1: admitted as node 1 | drop 2".
template <typename Action>
std::string words_of(const std::vector<Action>& actions) {
  std::string text;
  for (const Action& action : actions) {
    const std::string words = words_of(action);
    text += (text.empty() || words.empty() ? "" : " | ") + words;
  }
  return text;
}

/// A rank that failed; two ranks a node.
inline Failure failure_of(int rank, ExitStatus status = ExitStatus::exited(9)) {
  Failure failure;
  failure.node = NodeRank{rank / 2};
  failure.host = std::string("host-") + static_cast<char>('a' + rank / 2);
  failure.global_rank = GlobalRank{rank};
  failure.local_rank = LocalRank{rank % 2};
  failure.pid = 1'000 + rank;
  failure.status = status;
  failure.exit_code = status.shell_code();
  return failure;
}

/// A rank that ended with 0; two ranks a node.
inline Succeeded success_of(int rank, int attempt = 0) {
  Succeeded succeeded;
  succeeded.attempt = attempt;
  succeeded.global_rank = GlobalRank{rank};
  succeeded.local_rank = LocalRank{rank % 2};
  succeeded.pid = 1'000 + rank;
  succeeded.run_time_seconds = 1;
  succeeded.world_size = 4;
  return succeeded;
}

/// The last of a node's ranks that ended with 0.
inline Succeeded last_success_of(int rank, int attempt = 0) {
  Succeeded succeeded = success_of(rank, attempt);
  succeeded.is_last = true;
  return succeeded;
}

}  // namespace muster::gang
