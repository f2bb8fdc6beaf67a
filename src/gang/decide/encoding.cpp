// The messages as JSON. Each message is described once, field by field; a writer and a reader follow
// the same description, so what is written can be read.
#include "encoding.hpp"

#include <muster/base/json.hpp>
#include <muster/base/text.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <utility>
#include <vector>

namespace muster::gang {
namespace {

// --- What a field may hold ----------------------------------------------------------------------

struct Integer {
  int least = 0;
  int most = 0;
};
struct Seconds {};
struct Flag {};
/// A text of so many bytes at most. One of a single line has no control characters: strangers' texts
/// reach terminals.
struct Text {
  std::size_t most = 0;
  bool is_line = true;
};
struct VerdictName {};  ///< as the table of ends has it
struct Object {};       ///< something that `describe` knows
/// Bytes of any kind, at most so many. They follow the JSON, behind a zero byte, which no JSON has.
struct Tail {
  std::size_t most = 0;
};
enum class Keep {
  First,
  Last
};
/// What is too much is left out where it is written, and an error where it is read.
template <typename Kind>
struct List {
  std::size_t most = 0;
  Keep keep = Keep::First;
  Kind item;
};
/// Left out where it is written if it is empty or 0, and that where it is not there.
template <typename Kind>
struct Rare {
  Kind kind;
};

constexpr int kMostInt = std::numeric_limits<int>::max();
constexpr int kMostRank = 1'000'000;
constexpr double kMostSeconds = 315'360'000;  // ten years, as in parse_seconds

constexpr Integer kRank{0, kMostRank};
constexpr Integer kCount{1, kMostRank};
constexpr Integer kNumber{0, kMostInt};
constexpr Integer kPid{-1, kMostInt};
constexpr Integer kSignal{1, 64};
constexpr Integer kPort{0, 65'535};
constexpr Integer kExitCode{0, 255};
constexpr Text kName{.most = 255};
constexpr Rare<Text> kRareName{kName};
constexpr Rare<Integer> kRareNumber{kNumber};
constexpr Text kSentence{.most = 2'048};
constexpr Text kLongText{.most = 8'192, .is_line = false};
constexpr List<Text> kLastLines{40, Keep::Last, {.most = 2'048, .is_line = false}};
constexpr List<Object> kSlowest{3, Keep::First, {}};
constexpr List<Object> kPastAttempts{10, Keep::Last, {}};
constexpr Rare<List<Integer>> kPorts{{kMostPortsOfNode, Keep::First, kPort}};
constexpr List<Object> kNodesWithPorts{kMostNodesWithPorts, Keep::First, {}};
constexpr Text kKey{.most = kMostKeyBytes};
constexpr Integer kValueBytes{0, static_cast<int>(kMostValueBytes)};
constexpr Rare<List<Integer>> kListedNodes{{kMostListedNodes, Keep::First, kRank}};
constexpr Tail kPieceBytes{kMostPieceBytes};

bool is_control(char c) {
  constexpr char kDelete = 0x7F;
  return (c >= 0 && c < ' ') || c == kDelete;
}

// --- The description ----------------------------------------------------------------------------

template <typename Io>
void describe(Io& io, Failure& failure) {
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
}

template <typename Io>
void describe(Io& io, Arrival& arrival) {
  io("node", arrival.node, kRank);
  io("host", arrival.host, kName);
  io("seconds", arrival.seconds, Seconds{});
}

template <typename Io>
void describe(Io& io, PastAttempt& past) {
  io("attempt", past.attempt, kNumber);
  io("reason", past.reason, kSentence);
}

template <typename Io>
void describe(Io& io, GangRecord& record) {
  io("nodes", record.nodes, kCount);
  io("arrival_skew_seconds", record.arrival_skew_seconds, Seconds{});
  io("slowest", record.slowest, kSlowest);
  io("past_attempts", record.past_attempts, kPastAttempts);
}

template <typename Io>
void describe(Io& io, JobEnd& end) {
  io("verdict", end.verdict, VerdictName{});
  io("exit_code", end.exit_code, kExitCode);
  io("attempt", end.attempt, kNumber);
  io("reason", end.reason, kSentence);
  io("first_failure", end.first_failure, Object{});
  io("stop_signal", end.stop_signal, kSignal);
  io("rank_zero_had_ended", end.rank_zero_had_ended, Flag{});
  io("gang", end.gang, Object{});
}

template <typename Io>
void describe(Io& io, Join& join) {
  io("protocol", join.protocol, kNumber);
  io("version", join.version, kName);
  io("job_id", join.job_id, kName);
  io("incarnation", join.incarnation, kName);
  io("node_rank", join.node_rank, kRank);
  io("least_nodes", join.least_nodes, kCount);
  io("most_nodes", join.most_nodes, kCount);
  io("mode", join.mode, kName);
  io("slots", join.slots, kCount);
  io("host", join.host, kName);
  io("waited_seconds", join.waited_seconds, Seconds{});
  io("grace_seconds", join.grace_seconds, Seconds{});
  io("ports", join.ports, kPorts);
  io("total_slots", join.total_slots, kRareNumber);
}

template <typename Io>
void describe(Io& /*io*/, Beat& /*beat*/) {}

template <typename Io>
void describe(Io& io, Failed& failed) {
  io("attempt", failed.attempt, kNumber);
  io("failure", failed.failure, Object{});
}

template <typename Io>
void describe(Io& io, Succeeded& succeeded) {
  io("attempt", succeeded.attempt, kNumber);
  io("global_rank", succeeded.global_rank, kRank);
  io("local_rank", succeeded.local_rank, kRank);
  io("role", succeeded.role, kName);
  io("pid", succeeded.pid, kPid);
  io("run_time_seconds", succeeded.run_time_seconds, Seconds{});
  io("is_last", succeeded.is_last, Flag{});
}

template <typename Io>
void describe(Io& io, Ended& ended) {
  io("attempt", ended.attempt, kNumber);
  io("failure", ended.failure, Object{});
  io("made_progress", ended.made_progress, Flag{});
  io("gave_up", ended.gave_up, Flag{});
}

template <typename Io>
void describe(Io& io, StopAsked& asked) {
  io("signal", asked.signal, kSignal);
  io("is_urgent", asked.is_urgent, Flag{});
}

template <typename Io>
void describe(Io& io, Piece& piece) {
  io("key", piece.id.key, kKey);
  io("attempt", piece.id.attempt, kNumber);
  io("round", piece.id.round, kNumber);
  io("nodes", piece.id.nodes, kListedNodes);
  io("size", piece.size, kValueBytes);
  io("packed", piece.packed, kValueBytes);
  io("offset", piece.offset, kValueBytes);
  io(piece.bytes, kPieceBytes);
}

template <typename Io>
void describe(Io& io, Contribute& contribute) {
  describe(io, contribute.piece);
}

template <typename Io>
void describe(Io& io, Merged& merged) {
  describe(io, merged.piece);
}

template <typename Io>
void describe(Io& io, Admitted& admitted) {
  io("seat", admitted.seat, kRank);
  io("heartbeat_timeout_seconds", admitted.heartbeat_timeout_seconds, Seconds{});
}

template <typename Io>
void describe(Io& io, Refused& refused) {
  io("reason", refused.reason, kSentence);
  io("may_retry", refused.may_retry, Flag{});
}

template <typename Io>
void describe(Io& io, Waiting& waiting) {
  io("progress", waiting.progress, kSentence);
}

template <typename Io>
void describe(Io& io, NodePorts& node) {
  io("host", node.host, kRareName);
  io("ports", node.ports, kPorts);
  io("slots", node.slots, kRareNumber);
}

template <typename Io>
void describe(Io& io, Ports& ports) {
  io("attempt", ports.attempt, kNumber);
  io("nodes", ports.nodes, kNodesWithPorts);
}

template <typename Io>
void describe(Io& io, Start& start) {
  io("attempt", start.attempt, kNumber);
  io("node_rank", start.node_rank, kRank);
  io("nodes", start.nodes, kCount);
  io("slots_before", start.slots_before, kNumber);
  io("slots_total", start.slots_total, kNumber);
  io("master_address", start.master_address, kName);
  io("worker_port", start.worker_port, kPort);
  io("orphan_limit_seconds", start.orphan_limit_seconds, Seconds{});
}

template <typename Io>
void describe(Io& io, Stop& stop) {
  io("attempt", stop.attempt, kNumber);
  io("signal", stop.signal, kSignal);
  io("reason", stop.reason, kSentence);
  io("end", stop.end, Object{});
  io("is_urgent", stop.is_urgent, Flag{});
}

template <typename Io>
void describe(Io& io, Finish& finish) {
  io("end", finish.end, Object{});
}

constexpr std::array<const char*, std::variant_size_v<Message>> kNames{"join",
                                                                       "beat",
                                                                       "failed",
                                                                       "succeeded",
                                                                       "ended",
                                                                       "stop_asked",
                                                                       "contribute",
                                                                       "admitted",
                                                                       "refused",
                                                                       "waiting",
                                                                       "ports",
                                                                       "merged",
                                                                       "start",
                                                                       "stop",
                                                                       "finish"};

template <typename T>
concept Rank =
    std::same_as<T, NodeRank> || std::same_as<T, LocalRank> || std::same_as<T, GlobalRank>;

// --- Writing ------------------------------------------------------------------------------------

// The types nest three levels deep, and so do the calls.
// NOLINTBEGIN(misc-no-recursion)

class Writer {
 public:
  /// Texts get only 1/`share` of what they may have.
  explicit Writer(std::size_t share) : share_(share) {}

  template <typename T, typename Kind>
  void operator()(const char* name, T& value, const Kind& kind) {
    object_[name] = write(value, kind);
  }
  template <typename T, typename Kind>
  void operator()(const char* name, std::optional<T>& value, const Kind& kind) {
    if (value) {
      object_[name] = write(*value, kind);
    }
  }
  template <typename T, typename Kind>
  void operator()(const char* name, T& value, const Rare<Kind>& rare) {
    if (value != T{}) {
      object_[name] = write(value, rare.kind);
    }
  }

  void operator()(const char* name, std::optional<ExitStatus>& status, const Object& /*object*/) {
    if (status && status->code()) {
      object_[name] = {{"code", *status->code()}};
    } else if (status) {
      object_[name] = {{"signal", *status->signal()}, {"core", status->dumped_core()}};
    }
  }

  void operator()(const std::string& bytes, const Tail& tail) {
    tail_ = std::string_view(bytes).substr(0, tail.most);
  }

  [[nodiscard]] json::object& object() { return object_; }
  /// What was written, with what follows it.
  [[nodiscard]] std::string text() const {
    std::string text = json::serialize(object_);
    return tail_.empty() ? text : text.append(1, '\0').append(tail_);
  }

 private:
  template <std::integral T>
  [[nodiscard]] json::value write(T value, const Integer& range) const {
    return std::clamp(static_cast<int>(value), range.least, range.most);
  }
  [[nodiscard]] json::value write(Rank auto rank, const Integer& range) const {
    return write(rank.value, range);
  }
  [[nodiscard]] json::value write(bool value, const Flag& /*flag*/) const { return value; }
  [[nodiscard]] json::value write(double value, const Seconds& /*seconds*/) const {
    return value > 0 ? std::min(value, kMostSeconds) : 0.0;  // a NaN is not greater either
  }
  [[nodiscard]] json::value write(const std::string& value, const Text& text) const {
    constexpr std::size_t kLeast = 16;
    std::string line = shortened(value, std::max(text.most / share_, kLeast));
    if (text.is_line) {
      std::replace_if(line.begin(), line.end(), is_control, ' ');
    }
    return json::string(line);
  }
  [[nodiscard]] json::value write(Verdict verdict, const VerdictName& /*name*/) const {
    return json::string(verdict_name(verdict));
  }
  template <typename T>
  [[nodiscard]] json::value write(T& value, const Object& /*object*/) const {
    Writer inner(share_);
    describe(inner, value);
    return std::move(inner.object());
  }
  template <typename T, typename Kind>
  [[nodiscard]] json::value write(std::vector<T>& values, const List<Kind>& list) const {
    const std::size_t count = std::min(values.size(), list.most);
    const std::size_t first = list.keep == Keep::Last ? values.size() - count : 0;
    json::array array;
    for (std::size_t i = first; i < first + count; ++i) {
      array.push_back(write(values[i], list.item));
    }
    return array;
  }

  std::size_t share_;
  json::object object_;
  std::string_view tail_;
};

/// The same description reads and writes, so it takes what it could change; the writer does not.
std::string encode(Message& message, std::size_t share) {
  Writer writer(share);
  writer.object()["type"] = name_of(message);
  std::visit([&](auto& known) { describe(writer, known); }, message);
  return writer.text();
}

// --- Reading ------------------------------------------------------------------------------------

/// The start of an offending value, for an error.
std::string quote(const json::value& value) {
  constexpr std::size_t kMost = 40;
  return value.is_structured() ? std::string("a list or object")
                               : shortened(json::serialize(value), kMost);
}

/// Remembers the first error; what is read after it does not matter.
class Reader {
 public:
  Reader(const json::object& object, std::string path, std::string& error)
      : object_(object), path_(std::move(path)), error_(error) {}

  /// What follows the JSON; it belongs to the outermost object.
  void set_tail(std::string_view tail) { tail_ = tail; }
  [[nodiscard]] bool has_unread_tail() const { return !tail_.empty(); }

  template <typename T, typename Kind>
  void operator()(const char* name, T& value, const Kind& kind) {
    if (const json::value* const field = object_.if_contains(name)) {
      read(path_ + name, *field, value, kind);
    } else {
      fail("'" + path_ + name + "' is missing");
    }
  }
  template <typename T, typename Kind>
  void operator()(const char* name, std::optional<T>& value, const Kind& kind) {
    const json::value* const field = object_.if_contains(name);
    if (field != nullptr && !field->is_null()) {
      read(path_ + name, *field, value.emplace(), kind);
    }
  }
  template <typename T, typename Kind>
  void operator()(const char* name, T& value, const Rare<Kind>& rare) {
    if (const json::value* const field = object_.if_contains(name)) {
      read(path_ + name, *field, value, rare.kind);
    }
  }
  void operator()(const char* name, std::optional<ExitStatus>& status, const Object& /*object*/) {
    const json::value* const field = object_.if_contains(name);
    if (field != nullptr && !field->is_null()) {
      read_status(path_ + name, *field, status);
    }
  }
  void operator()(std::string& bytes, const Tail& tail) {
    if (tail_.size() > tail.most) {
      fail(std::to_string(tail_.size()) + " bytes follow, expected at most " +
           std::to_string(tail.most));
    }
    bytes = std::exchange(tail_, {});
  }

 private:
  void fail(std::string error) {
    if (error_.empty()) {
      error_ = std::move(error);
    }
  }
  void reject(const std::string& path, const json::value& value, const std::string& expected) {
    fail("'" + path + "' is " + quote(value) + ", expected " + expected);
  }

  template <std::integral T>
  void read(const std::string& path, const json::value& value, T& number, const Integer& range) {
    const std::int64_t* const given = value.if_int64();
    if (given == nullptr || *given < range.least || *given > range.most) {
      reject(path,
             value,
             "a number from " + std::to_string(range.least) + " to " + std::to_string(range.most));
      return;
    }
    number = static_cast<T>(*given);
  }
  void read(const std::string& path,
            const json::value& value,
            Rank auto& rank,
            const Integer& range) {
    read(path, value, rank.value, range);
  }
  void read(const std::string& path, const json::value& value, bool& flag, const Flag& /*kind*/) {
    if (!value.is_bool()) {
      reject(path, value, "true or false");
      return;
    }
    flag = value.get_bool();
  }
  void read(const std::string& path,
            const json::value& value,
            double& seconds,
            const Seconds& /*kind*/) {
    boost::system::error_code error;
    const double given = value.is_number() ? value.to_number<double>(error) : -1;
    if (error || !(given >= 0 && given <= kMostSeconds)) {
      reject(path, value, "seconds, at most ten years");
      return;
    }
    seconds = given;
  }
  void read(const std::string& path,
            const json::value& value,
            std::string& text,
            const Text& kind) {
    const json::string* const given = value.if_string();
    if (given == nullptr || given->size() > kind.most) {
      reject(path, value, "a text of at most " + std::to_string(kind.most) + " bytes");
      return;
    }
    if (kind.is_line && std::any_of(given->begin(), given->end(), is_control)) {
      reject(path, value, "a text without control characters");
      return;
    }
    text.assign(given->data(), given->size());
  }
  void read(const std::string& path,
            const json::value& value,
            Verdict& verdict,
            const VerdictName& /*name*/) {
    const json::string* const given = value.if_string();
    const auto found = given != nullptr ? find_verdict(*given) : std::nullopt;
    if (!found) {
      reject(path, value, "a verdict such as \"failed\"");
      return;
    }
    verdict = *found;
  }
  void read_status(const std::string& path,
                   const json::value& value,
                   std::optional<ExitStatus>& status) {
    if (!value.is_object()) {
      reject(path, value, "an object");
      return;
    }
    Reader inner(value.get_object(), path + ".", error_);
    if (value.get_object().contains("signal")) {
      int signal = 0;
      bool dumped_core = false;
      inner("signal", signal, kSignal);
      inner("core", dumped_core, Flag{});
      status = ExitStatus::signalled(signal, dumped_core);
    } else {
      int code = 0;
      inner("code", code, kExitCode);
      status = ExitStatus::exited(code);
    }
  }
  template <typename T>
  void read(const std::string& path,
            const json::value& value,
            T& inner_value,
            const Object& /*kind*/) {
    if (!value.is_object()) {
      reject(path, value, "an object");
      return;
    }
    Reader inner(value.get_object(), path + ".", error_);
    describe(inner, inner_value);
  }
  template <typename T, typename Kind>
  void read(const std::string& path,
            const json::value& value,
            std::vector<T>& items,
            const List<Kind>& list) {
    const json::array* const given = value.if_array();
    if (given == nullptr || given->size() > list.most) {
      fail("'" + path + "' is no list of at most " + std::to_string(list.most));
      return;
    }
    for (const json::value& item : *given) {
      const std::string item_path = path + "[" + std::to_string(items.size()) + "]";
      read(item_path, item, items.emplace_back(), list.item);
    }
  }

  const json::object& object_;
  std::string_view tail_;
  std::string path_;  ///< of the object, with a point at its end
  std::string& error_;
};
// NOLINTEND(misc-no-recursion)

Error bad(std::string message) {
  return {ErrorKind::BadData, std::move(message)};
}

/// A message of that name with default values; empty: there is none.
std::optional<Message> make_message(std::string_view name) {
  const auto make = [&]<std::size_t... I>(std::index_sequence<I...> /*indices*/) {
    std::optional<Message> message;
    ((name == kNames.at(I) ? message.emplace(std::in_place_index<I>), 0 : 0), ...);
    return message;
  };
  return make(std::make_index_sequence<kNames.size()>());
}

bool is_incarnation(const std::string& text) {
  constexpr std::size_t kDigits = 16;
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// What no field can tell alone.
std::string objection(const Message& message) {
  const Join* const join = std::get_if<Join>(&message);
  if (join != nullptr && !is_incarnation(join->incarnation)) {
    return "'incarnation' is '" + join->incarnation + "', expected 16 hexadecimal digits";
  }
  if (join != nullptr && join->least_nodes > join->most_nodes) {
    return "'least_nodes' is " + std::to_string(join->least_nodes) +
           ", expected at most 'most_nodes', which is " + std::to_string(join->most_nodes);
  }
  const Ports* const ports = std::get_if<Ports>(&message);
  return ports != nullptr ? describe_excess(*ports) : std::string();
}

std::size_t most_bytes(const Message& message) {
  if (std::holds_alternative<Join>(message)) {
    return kMostJoinBytes;
  }
  return std::holds_alternative<Ports>(message) ? kMostMessageBytes : kMostWordBytes;
}

}  // namespace

std::string describe_excess(const Ports& ports) {
  std::size_t count = 0;
  for (const NodePorts& node : ports.nodes) {
    count += node.ports.size();
  }
  if (ports.nodes.size() > kMostNodesWithPorts) {
    return "ports are reserved, and the job has " + std::to_string(ports.nodes.size()) +
           " nodes, expected at most " + std::to_string(kMostNodesWithPorts);
  }
  if (count > kMostPortsOfJob) {
    return std::to_string(count) + " ports are reserved on all nodes, expected at most " +
           std::to_string(kMostPortsOfJob);
  }
  return {};
}

const char* name_of(const Message& message) {
  return kNames.at(message.index());
}

std::string encode(const Message& message) {
  const std::size_t limit = most_bytes(message);
  Message copy = message;
  std::string text = encode(copy, 1);
  // A control character takes six bytes: texts that are full of them are cut once more.
  for (std::size_t share = 2; text.size() > limit; share *= 2) {
    text = encode(copy, share);
  }
  return text;
}

std::string as_sent(const std::string& name) {
  Join join;
  join.incarnation = std::string(16, '0');
  join.job_id = name;
  const auto received = decode(encode(join));
  return received ? std::get<Join>(*received).job_id : name;
}

Result<Message> decode(std::string_view bytes) {
  const std::string_view text = bytes.substr(0, bytes.find('\0'));
  json::parse_options limits;
  limits.max_depth = 8;
  boost::system::error_code error;
  const json::value document = json::parse({text.data(), text.size()}, error, {}, limits);
  if (error) {
    return bad("no JSON: " + error.message());
  }
  if (!document.is_object()) {
    return bad("no JSON object");
  }
  const json::value* const type = document.get_object().if_contains("type");
  if (type == nullptr || !type->is_string()) {
    return bad("'type' is missing, expected the name of a message");
  }
  const json::string& name = type->get_string();
  std::optional<Message> message = make_message({name.data(), name.size()});
  if (!message) {
    return bad("'type' is " + quote(*type) + ", expected the name of a message such as \"join\"");
  }
  std::string problem;
  Reader reader(document.get_object(), "", problem);
  reader.set_tail(bytes.substr(std::min(bytes.size(), text.size() + 1)));
  std::visit([&](auto& known) { describe(reader, known); }, *message);
  if (problem.empty() && reader.has_unread_tail()) {
    problem = "bytes follow that it does not have";
  }
  if (problem.empty()) {
    problem = objection(*message);
  }
  if (!problem.empty()) {
    return bad("in '" + std::string(name_of(*message)) + "' " + problem);
  }
  return std::move(*message);
}

}  // namespace muster::gang
