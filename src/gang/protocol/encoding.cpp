// Messages are written: a message as JSON that fits its limit. decoding.cpp reads them.
#include "gang/protocol/message_encoding.hpp"

#include "gang/protocol/message_fields.hpp"

#include "base/json.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace muster::gang {
namespace fields {
namespace {

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
  [[nodiscard]] json::value write(EndKind kind, const Integer& range) const {
    return write(static_cast<int>(kind), range);
  }
  [[nodiscard]] json::value write(Rank auto rank, const Integer& range) const {
    return write(rank.value, range);
  }
  [[nodiscard]] json::value write(bool value, const Flag& /*flag*/) const { return value; }
  [[nodiscard]] json::value write(double value, const Seconds& /*seconds*/) const {
    return value > 0 ? std::min(value, kMostSeconds) : 0.0;  // a NaN is not greater either
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

/// The same description reads and writes, so it takes what it could change; the writer does not.
std::string encode(Message& message, std::size_t share) {
  fields::Writer writer(share);
  writer.object()["type"] = name_of(message);
  std::visit([&](auto& known) { fields::describe(writer, known); }, message);
  return writer.text();
}

/// A control character takes six bytes: texts that are full of them are cut once more.
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

}  // namespace muster::gang
