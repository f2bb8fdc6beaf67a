#pragma once

// Describes the JSON form of each message once, field by field. Writer and reader follow one description, so whatever
// is written can be read.

#include "gang/gang_config.hpp"
#include "gang/protocol/message_encoding.hpp"

#include <array>
#include <concepts>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace muster::gang::fields {

// --- Types of fields ----------------------------------------------------------------------------

struct Integer {
  int least = 0;
  int most = 0;
};
struct Seconds {};
struct Flag {};
/// A text of up to `most` bytes. A single-line text has no control characters, because terminals show texts of other
/// machines.
struct Text {
  std::size_t most = 0;
  bool is_line = true;
};
struct VerdictName {};  ///< as in the table of ends
struct Object {};       ///< an object with its own `describe`
/// Up to `most` bytes of any kind. They follow the JSON after a zero byte, which JSON cannot contain.
struct Tail {
  std::size_t most = 0;
};
enum class Keep {
  First,
  Last
};
/// A list. The writer drops excess elements, the reader rejects them.
template <typename Kind>
struct List {
  std::size_t most = 0;
  Keep keep = Keep::First;
  Kind item;
};
/// The writer omits an empty or zero field; the reader takes a missing field as empty or zero.
template <typename Kind>
struct Optional {
  Kind kind;
};
/// The writer writes null for an empty field.
template <typename Kind>
struct Nullable {
  Kind kind;
};
/// An object with any member names; their order is kept. If a name occurs twice, the first one is used.
template <typename Kind>
struct Members {
  Kind item;
};
template <typename T>
using Named = std::vector<std::pair<std::string, T>>;

inline constexpr int kMostInt = std::numeric_limits<int>::max();
inline constexpr int kMostRank = 1'000'000;
inline constexpr double kMostSeconds = 315'360'000;  // ten years, as in parse_seconds

inline constexpr Integer kRank{0, kMostRank};
inline constexpr Integer kCount{1, kMostRank};
inline constexpr Integer kNumber{0, kMostInt};
inline constexpr Optional<Integer> kRareNumber{kRank};
inline constexpr Optional<Integer> kRareAmount{kNumber};
inline constexpr Integer kPid{-1, kMostInt};
inline constexpr Integer kSignal{1, 64};
inline constexpr Integer kPort{0, 65'535};
inline constexpr Integer kExitCode{0, 255};
inline constexpr Text kName{.most = 255};
inline constexpr Optional<Integer> kRareExitCode{kExitCode};
/// If the kind is missing or does not fit the verdict, only the verdict is used.
inline constexpr Optional<Integer> kRareEndKind{{0, static_cast<int>(EndKind::Unfit)}};
inline constexpr Optional<Text> kRareName{kName};
inline constexpr Text kSentence{.most = 2'048};
inline constexpr Optional<List<Text>> kDevices{{64, Keep::First, {.most = 64}}};
inline constexpr Optional<Text> kRareSentence{kSentence};
inline constexpr Text kAnyText{.most = kMostValueBytes, .is_line = false};
inline constexpr List<Text> kAnyTexts{kMostInt, Keep::First, kAnyText};
inline constexpr List<Integer> kNumbers{kMostInt, Keep::First, kNumber};
inline constexpr Text kLongText{.most = 8'192, .is_line = false};
inline constexpr List<Text> kLastLines{40, Keep::Last, {.most = 2'048, .is_line = false}};
inline constexpr Optional<List<Text>> kPastLastLines{{kPastLines, Keep::Last, {.most = 2'048, .is_line = false}}};
inline constexpr Optional<List<Text>> kPastAlsoFailed{{kPastOthers, Keep::First, {.most = 1'024}}};
inline constexpr Optional<List<Text>> kHints{{4, Keep::First, kSentence}};
inline constexpr List<Object> kOtherFailures{OtherFailures::kMostListed, Keep::First, {}};
inline constexpr List<Object> kSlowest{3, Keep::First, {}};
inline constexpr List<Object> kPastAttempts{10, Keep::Last, {}};
inline constexpr Optional<List<Object>> kOutliers{{16, Keep::First, {}}};
inline constexpr Optional<List<Object>> kSuspects{{16, Keep::First, {}}};
inline constexpr Optional<List<Text>> kReasons{{Suspect::kMostReasons, Keep::Last, kSentence}};
inline constexpr List<Text> kEndpoints{kMostEndpoints, Keep::First, kName};
inline constexpr Optional<List<Object>> kRoles{{kMostRoles, Keep::First, {}}};
inline constexpr Optional<List<Text>> kRoleNames{{kMostRoles, Keep::First, kName}};
inline constexpr Text kStatusText{.most = kMostStatusBytes};
inline constexpr Text kKey{.most = kMostKeyBytes};
inline constexpr Optional<List<Text>> kKeys{{kMostKeys, Keep::First, kKey}};
inline constexpr Integer kValueBytes{0, static_cast<int>(kMostValueBytes)};
inline constexpr Optional<List<Integer>> kListedNodes{{kMostListedNodes, Keep::First, kRank}};
inline constexpr Optional<List<Integer>> kErredRanks{{4'096, Keep::First, kRank}};
inline constexpr Optional<List<Integer>> kHungRanks{{4'096, Keep::First, kRank}};
inline constexpr Tail kPieceBytes{kMostPieceBytes};

// --- Descriptions -------------------------------------------------------------------------------

void describe(auto& io, Failure& failure) {
  io("node", failure.node, kRank);
  io("host", failure.host, kName);
  io("role", failure.role, kName);
  io("global_rank", failure.global_rank, kRank);
  io("local_rank", failure.local_rank, kRank);
  io("pid", failure.pid, kPid);
  io("status", failure.status, Object{});
  io("exit_code", failure.exit_code, kExitCode);
  io("run_time_seconds", failure.run_time_seconds, Seconds{});
  io("start_error", failure.start_error, kLongText);
  io("error_message", failure.error_message, kLongText);
  io("last_lines", failure.last_lines, kLastLines);
  io("is_early_exit", failure.is_early_exit, Flag{});
  io("knows_order", failure.knows_order, Flag{});
  io("label", failure.label, kRareName);
  io("is_unranked", failure.is_unranked, Optional<Flag>{});
  io("service", failure.service, kRareName);
  io("was_passed_on", failure.was_passed_on, Optional<Flag>{});
  io("is_hung", failure.is_hung, Optional<Flag>{});
  io("is_unkillable", failure.is_unkillable, Optional<Flag>{});
  io("was_asked", failure.was_asked, Optional<Flag>{});
  io("wrote_first", failure.wrote_first, Optional<Flag>{});
  io("has_joined_streams", failure.has_joined_streams, Optional<Flag>{});
  io("hints", failure.hints, kHints);
}

void describe(auto& io, OtherFailures& others) {
  io("listed", others.listed, kOtherFailures);
  io("count", others.count, kNumber);
}

void describe(auto& io, Arrival& arrival) {
  io("node", arrival.node, kRank);
  io("host", arrival.host, kName);
  io("seconds", arrival.seconds, Seconds{});
}

void describe(auto& io, PastAttempt& past) {
  io("attempt", past.attempt, kNumber);
  io("reason", past.reason, kSentence);
  io("is_loss", past.is_loss, Optional<Flag>{});
  io("last_lines", past.last_lines, kPastLastLines);
  io("also_failed", past.also_failed, kPastAlsoFailed);
}

void describe(auto& io, Outlier& outlier) {
  io("node", outlier.node, kRank);
  io("host", outlier.host, kName);
  io("others", outlier.others, kNumber);
  io("facts", outlier.facts, kSentence);
}

void describe(auto& io, Suspect& suspect) {
  io("node", suspect.node, kRank);
  io("host", suspect.host, kName);
  io("failures", suspect.failures, kNumber);
  io("reasons", suspect.reasons, kReasons);
  io("is_left_out", suspect.is_left_out, Optional<Flag>{});
}

void describe(auto& io, GangRecord& record) {
  io("nodes", record.nodes, kCount);
  io("arrival_skew_seconds", record.arrival_skew_seconds, Seconds{});
  io("slowest", record.slowest, kSlowest);
  io("past_attempts", record.past_attempts, kPastAttempts);
  io("outliers", record.outliers, kOutliers);
  io("suspects", record.suspects, kSuspects);
}

void describe(auto& io, EarlyLeaver& leaver) {
  io("node", leaver.node, kRank);
  io("host", leaver.host, kName);
  io("global_rank", leaver.global_rank, kRank);
  io("run_time_seconds", leaver.run_time_seconds, Seconds{});
}

void describe(auto& io, JobEnd& end) {
  io("verdict", end.verdict, VerdictName{});
  io("kind", end.kind, kRareEndKind);
  io("exit_code", end.exit_code, kExitCode);
  io("attempt", end.attempt, kNumber);
  io("reason", end.reason, kSentence);
  io("first_failure", end.first_failure, Object{});
  io("also_failed", end.also_failed, Optional<Object>{});
  io("erred_after_notice", end.erred_after_notice, kErredRanks);
  io("stop_signal", end.stop_signal, kSignal);
  io("rank_zero_had_ended", end.rank_zero_had_ended, Flag{});
  io("left_early", end.left_early, Object{});
  io("gang", end.gang, Object{});
}

void describe(auto& io, RoleSize& size) {
  io("role", size.role, kName);
  io("count", size.count, kNumber);
}

void describe(auto& io, RoleEndpoints& role) {
  io("role", role.role, kName);
  io("endpoints", role.endpoints, kEndpoints);
}

void describe(auto& io, JobFacts& job) {
  io("job_id", job.job_id, kName);
  io("mode", job.mode, kName);
  io("template_digest", job.template_digest, kRareName);
  io("are_tasks", job.are_tasks, Optional<Flag>{});
  io("least_nodes", job.least_nodes, kCount);
  io("most_nodes", job.most_nodes, kCount);
  io("total_slots", job.total_slots, kCount);
  io("roles", job.roles, kRoles);
  io("endpoints", job.endpoints, kRoles);
  io("success_roles", job.success_roles, kRoleNames);
}

void describe(auto& io, NodeFacts& node) {
  io("rank", node.rank, kRank);
  io("slots", node.slots, kCount);
  io("host", node.host, kName);
  io("grace_seconds", node.grace, Seconds{});
  io("role_name", node.role_name, kRareName);
  io("devices", node.devices, kDevices);
  io("device_view", node.device_view, kRareName);
  io("machine", node.machine, kRareName);
}

/// Reads a join of another protocol version only up to the version, for which it is then refused.
void describe(auto& io, Join& join) {
  io("protocol", join.protocol, kNumber);
  io("version", join.version, kName);
  if (join.protocol != kProtocol) {
    return;
  }
  io("incarnation", join.incarnation, kName);
  io("job", join.job, Object{});
  io("node", join.node, Object{});
  io("waited_seconds", join.waited_seconds, Seconds{});
  io("waits_for", join.waits_for, kRareSentence);
  io("contributes", join.contributes, kKeys);
}

void describe(auto& io, InputStatus& preparing) {
  io("waits_for", preparing.waits_for, kSentence);
  io("exit_code", preparing.exit_code, kRareExitCode);
}

void describe(auto& io, Heartbeat& beat) {
  io("memory_used_mib", beat.memory.used_mib, kRareAmount);
  io("memory_limit_mib", beat.memory.limit_mib, kRareAmount);
  io("oom_kills", beat.memory.oom_kills, kRareAmount);
}

void describe(auto& io, Failed& failed) {
  io("attempt", failed.attempt, kNumber);
  io("failure", failed.failure, Object{});
}

void describe(auto& io, Succeeded& succeeded) {
  io("attempt", succeeded.attempt, kNumber);
  io("global_rank", succeeded.global_rank, kRank);
  io("local_rank", succeeded.local_rank, kRank);
  io("role", succeeded.role, kName);
  io("pid", succeeded.pid, kPid);
  io("run_time_seconds", succeeded.run_time_seconds, Seconds{});
  io("is_last", succeeded.is_last, Flag{});
  io("world_size", succeeded.world_size, kRareNumber);
}

void describe(auto& io, AttemptOver& ended) {
  io("attempt", ended.attempt, kNumber);
  io("failure", ended.failure, Object{});
  io("made_progress", ended.made_progress, Flag{});
  io("gave_up", ended.gave_up, Flag{});
  io("also_failed", ended.also_failed, Optional<Object>{});
  io("erred_after_notice", ended.erred_after_notice, kErredRanks);
}

void describe(auto& io, StopFromAgent& asked) {
  io("signal", asked.signal, kSignal);
  io("is_urgent", asked.is_urgent, Flag{});
  io("most_grace_seconds", asked.most_grace, Seconds{});
  io("requester", asked.requester, kRareSentence);
}

void describe(auto& io, SuspendRequested& asked) {
  io("source", asked.source, kSentence);
  io("within_seconds", asked.within, Seconds{});
  io("is_withdrawn", asked.is_withdrawn, Optional<Flag>{});
}

void describe(auto& io, WorkSaved& saved) {
  io("attempt", saved.attempt, kNumber);
  io("process", saved.process, kName);
}

void describe(auto& io, StatusQuery& asked) {
  io("number", asked.number, kNumber);
  io("what", asked.what, kRareSentence);
}

void describe(auto& io, StatusReport& report) {
  io("number", report.number, kNumber);
  io("text", report.text, kStatusText);
  io("missing", report.missing, kNumber);
  io("ranks", report.ranks, Optional<Text>{kStatusText});
  io("differs", report.differs, kRareSentence);
  io("suspect", report.suspect, kRareSentence);
  io("awaited", report.awaited, kRareSentence);
}

void describe(auto& io, Announce& announce) {
  io("text", announce.text, kSentence);
  io("begins_stall", announce.begins_stall, Optional<Flag>{});
  io("ranks", announce.ranks, kHungRanks);
}

void describe(auto& io, Hung& hung) {
  io("attempt", hung.attempt, kNumber);
  io("why", hung.why, kSentence);
  io("ranks", hung.ranks, kHungRanks);
}

void describe(auto& io, Chunk& chunk) {
  io("key", chunk.id.key, kKey);
  io("attempt", chunk.id.attempt, kNumber);
  io("round", chunk.id.round, kNumber);
  io("nodes", chunk.id.nodes, kListedNodes);
  io("size", chunk.size, kValueBytes);
  io("packed", chunk.compressed_size, kValueBytes);
  io("offset", chunk.offset, kValueBytes);
  io(chunk.bytes, kPieceBytes);
}

void describe(auto& io, Contribute& contribute) {
  describe(io, contribute.chunk);
}

void describe(auto& io, Merged& merged) {
  describe(io, merged.chunk);
}

void describe(auto& io, Admitted& admitted) {
  io("seat", admitted.seat, kRank);
  io("heartbeat_timeout_seconds", admitted.heartbeat_timeout_seconds, Seconds{});
  io("runs_without_it", admitted.runs_without_it, Optional<Flag>{});
}

void describe(auto& io, Refused& refused) {
  io("reason", refused.reason, kSentence);
  io("may_retry", refused.may_retry, Flag{});
}

void describe(auto& io, Waiting& waiting) {
  io("progress", waiting.progress, kSentence);
}

/// Writes a placement without its ports, because the nodes exchange these separately.
void describe(auto& io, Placement& placement) {
  io("attempt", placement.attempt, kNumber);
  io("restarts", placement.restarts, kRareNumber);
  io("max_restarts", placement.max_restarts, kNumber);
  io("nodes", placement.nodes, kCount);
  io("node_rank", placement.node_rank, kRank);
  io("slots_here", placement.slots_here, kNumber);
  io("slots_before", placement.slots_before, kNumber);
  io("slots_total", placement.slots_total, kNumber);
  io("host_rank", placement.host.rank, kRareNumber);
  io("hosts", placement.host.hosts, kRareNumber);
  io("tasks_on_host", placement.host.tasks, kRareNumber);
  io("role_slots_before", placement.role.before, kRareNumber);
  io("role_slots_total", placement.role.total, kRareNumber);
  io("master_address", placement.master_address, kName);
  io("worker_port", placement.worker_port, kPort);
  io("is_decided", placement.is_decided, Flag{});
}

void describe(auto& io, Start& start) {
  io("placement", start.placement, Object{});
  io("orphan_limit_seconds", start.orphan_limit_seconds, Seconds{});
  io("restart_count", start.restart_count, Optional<Integer>{kNumber});
  io("last_verdict", start.last_verdict, kRareName);
}

void describe(auto& io, Stop& stop) {
  io("attempt", stop.attempt, kNumber);
  io("signal", stop.signal, kSignal);
  io("reason", stop.reason, kSentence);
  io("end", stop.end, Object{});
  io("is_urgent", stop.is_urgent, Flag{});
  io("most_grace_seconds", stop.most_grace, Seconds{});
}

void describe(auto& io, Suspend& suspend) {
  io("attempt", suspend.attempt, kNumber);
  io("source", suspend.notice.source, kSentence);
  io("within_seconds", suspend.notice.within, Seconds{});
  io("is_withdrawn", suspend.notice.is_withdrawn, Optional<Flag>{});
}

void describe(auto& io, Finish& finish) {
  io("end", finish.end, Object{});
}

inline constexpr std::array<const char*, std::variant_size_v<Message>> kNames{
    "join",    "preparing",    "beat",          "failed",   "succeeded", "ended",      "stop_asked", "suspend_asked",
    "saved",   "status_asked", "status_report", "announce", "hung",      "contribute", "admitted",   "refused",
    "waiting", "merged",       "start",         "suspend",  "stop",      "finish"};

template <typename T>
concept Rank = std::same_as<T, NodeRank> || std::same_as<T, LocalRank> || std::same_as<T, GlobalRank>;

}  // namespace muster::gang::fields
