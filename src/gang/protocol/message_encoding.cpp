// Encodes messages as JSON within their size limits, and decodes what an untrusted sender may have sent.
#include "gang/protocol/message_encoding.hpp"

#include "base/json.hpp"
#include "base/text.hpp"
#include "gang/protocol/message_fields.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace muster::gang {
namespace fields {
namespace {

// The types nest three levels deep, and so do the calls.
// NOLINTBEGIN(misc-no-recursion)

class Writer {
 public:
  /// Limits texts to 1/`share` of their usual maximum.
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
  void operator()(const char* name, T& value, const Optional<Kind>& rare) {
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

  void operator()(const std::string& bytes, const Tail& tail) { tail_ = std::string_view(bytes).substr(0, tail.most); }

  [[nodiscard]] json::object& object() { return object_; }
  /// The JSON, followed by the tail if there is one.
  [[nodiscard]] std::string text() const {
    std::string text = json::serialize(object_);
    return tail_.empty() ? text : text.append(1, '\0').append(tail_);
  }

 private:
  template <std::integral T>
  [[nodiscard]] json::value write(T value, const Integer& range) const {
    return std::clamp(static_cast<int>(value), range.least, range.most);
  }
  [[nodiscard]] json::value write(EndKind kind, const Integer& range) const {
    return write(static_cast<int>(kind), range);
  }
  [[nodiscard]] json::value write(Rank auto rank, const Integer& range) const { return write(rank.value, range); }
  [[nodiscard]] json::value write(bool value, const Flag& /*flag*/) const { return value; }
  [[nodiscard]] json::value write(double value, const Seconds& /*seconds*/) const {
    return value > 0 ? std::min(value, kMostSeconds) : 0.0;  // also replaces a NaN, which is not greater
  }
  [[nodiscard]] json::value write(std::chrono::milliseconds value, const Seconds& seconds) const {
    return write(std::chrono::duration<double>(value).count(), seconds);
  }
  [[nodiscard]] json::value write(const std::string& value, const Text& text) const {
    constexpr std::size_t kLeast = 16;
    const std::size_t most = std::max(text.most / share_, kLeast);
    return json::string(text.is_line ? one_line(value, most) : shortened(value, most));
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
// NOLINTEND(misc-no-recursion)

}  // namespace
}  // namespace fields

namespace {

/// Takes a mutable message because the description that writes it also reads; the writer changes nothing.
std::string encode(Message& message, std::size_t share) {
  fields::Writer writer(share);
  writer.object()["type"] = name_of(message);
  std::visit([&](auto& known) { fields::describe(writer, known); }, message);
  return writer.text();
}

/// Encodes within the limit. A control character takes six bytes in JSON, so texts full of them are cut once more.
std::string encode_within(Message message, std::size_t limit) {
  constexpr std::size_t kMostShare = 1'024;  // lists are short, so this is never reached
  std::string text = encode(message, 1);
  for (std::size_t share = 2; text.size() > limit && share <= kMostShare; share *= 2) {
    text = encode(message, share);
  }
  return text;
}

std::size_t most_bytes(const Message& message) {
  if (std::holds_alternative<Join>(message)) {
    return kMostJoinBytes;
  }
  return kMostMessageBytes;
}

}  // namespace

const char* name_of(const Message& message) {
  return fields::kNames.at(message.index());
}

std::string encode(const Message& message) {
  return encode_within(message, most_bytes(message));
}

JobFacts normalized(JobFacts job) {
  if (job.most_nodes == 1) {
    return job;
  }
  std::size_t endpoints = 0;
  for (RoleEndpoints& role : job.endpoints) {
    role.endpoints.resize(std::min(role.endpoints.size(), kMostEndpoints - endpoints));
    endpoints += role.endpoints.size();
  }
  Join join;
  join.incarnation = std::string(16, '0');
  join.job = std::move(job);
  const auto received = decode(encode_within(Message(join), kMostFactsBytes));
  return received ? std::get<Join>(*received).job : join.job;
}

// Decodes messages of untrusted senders. Errors name the wrong field and what was expected.

namespace fields {
namespace {

// The types nest three levels deep, and so do the calls.
// NOLINTBEGIN(misc-no-recursion)

/// Quotes the start of an offending value for an error.
std::string quote(const json::value& value) {
  constexpr std::size_t kMost = 40;
  return value.is_structured() ? std::string("a list or object") : shortened(json::serialize(value), kMost);
}

/// Keeps the first error; fields read after it do not matter.
class Reader {
 public:
  Reader(const json::object& object, std::string path, std::string& error)
      : object_(object), path_(std::move(path)), error_(error) {}

  /// Sets the bytes after the JSON, which belong to the outermost object.
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
  void operator()(const char* name, T& value, const Optional<Kind>& rare) {
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
      fail(std::to_string(tail_.size()) + " bytes follow, expected at most " + std::to_string(tail.most));
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
      reject(path, value, "a number from " + std::to_string(range.least) + " to " + std::to_string(range.most));
      return;
    }
    number = static_cast<T>(*given);
  }
  void read(const std::string& path, const json::value& value, EndKind& kind, const Integer& range) {
    int number = 0;
    read(path, value, number, range);
    kind = static_cast<EndKind>(number);  // 0 if it is refused
  }
  void read(const std::string& path, const json::value& value, Rank auto& rank, const Integer& range) {
    read(path, value, rank.value, range);
  }
  void read(const std::string& path, const json::value& value, bool& flag, const Flag& /*kind*/) {
    if (!value.is_bool()) {
      reject(path, value, "true or false");
      return;
    }
    flag = value.get_bool();
  }
  void read(const std::string& path, const json::value& value, double& seconds, const Seconds& /*kind*/) {
    boost::system::error_code error;
    const double given = value.is_number() ? value.to_number<double>(error) : -1;
    if (error || !(given >= 0 && given <= kMostSeconds)) {
      reject(path, value, "seconds, at most ten years");
      return;
    }
    seconds = given;
  }
  void read(const std::string& path, const json::value& value, std::chrono::milliseconds& duration,
            const Seconds& kind) {
    double seconds = 0;
    read(path, value, seconds, kind);
    duration = std::chrono::milliseconds(std::llround(seconds * 1'000));
  }
  void read(const std::string& path, const json::value& value, std::string& text, const Text& kind) {
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
  void read(const std::string& path, const json::value& value, Verdict& verdict, const VerdictName& /*name*/) {
    const json::string* const given = value.if_string();
    const auto found = given != nullptr ? find_verdict(*given) : std::nullopt;
    if (!found) {
      reject(path, value, "a verdict such as \"failed\"");
      return;
    }
    verdict = *found;
  }
  void read_status(const std::string& path, const json::value& value, std::optional<ExitStatus>& status) {
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
  void read(const std::string& path, const json::value& value, T& inner_value, const Object& /*kind*/) {
    if (!value.is_object()) {
      reject(path, value, "an object");
      return;
    }
    Reader inner(value.get_object(), path + ".", error_);
    describe(inner, inner_value);
  }
  template <typename T, typename Kind>
  void read(const std::string& path, const json::value& value, std::vector<T>& items, const List<Kind>& list) {
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
  std::string path_;  ///< path of the object, with a final dot
  std::string& error_;
};
// NOLINTEND(misc-no-recursion)

}  // namespace
}  // namespace fields

namespace {

Error bad(std::string message) {
  return {ErrorKind::BadData, std::move(message)};
}

/// Returns a default message of that name; empty: unknown name.
std::optional<Message> make_message(std::string_view name) {
  const auto make = [&]<std::size_t... I>(std::index_sequence<I...> /*indices*/) {
    std::optional<Message> message;
    ((name == fields::kNames.at(I) ? message.emplace(std::in_place_index<I>), 0 : 0), ...);
    return message;
  };
  return make(std::make_index_sequence<fields::kNames.size()>());
}

/// Checks conditions that involve several fields.
std::string objection(const Message& message) {
  const Join* const join = std::get_if<Join>(&message);
  const bool is_ours = join != nullptr && join->protocol == kProtocol;
  constexpr std::size_t kDigits = 16;
  if (is_ours && (join->incarnation.size() != kDigits ||
                  join->incarnation.find_first_not_of("0123456789abcdef") != std::string::npos)) {
    return "'incarnation' is '" + join->incarnation + "', expected 16 hexadecimal digits";
  }
  if (is_ours && join->job.least_nodes > join->job.most_nodes) {
    return "'job.least_nodes' is " + std::to_string(join->job.least_nodes) +
           ", expected at most 'job.most_nodes', which is " + std::to_string(join->job.most_nodes);
  }
  return {};
}

}  // namespace

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
    return bad("'type' is " + fields::quote(*type) + ", expected the name of a message such as \"join\"");
  }
  std::string problem;
  fields::Reader reader(document.get_object(), "", problem);
  reader.set_tail(bytes.substr(std::min(bytes.size(), text.size() + 1)));
  std::visit([&](auto& known) { fields::describe(reader, known); }, *message);
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
