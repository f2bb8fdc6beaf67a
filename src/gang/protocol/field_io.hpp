#pragma once

// Writes values as JSON and reads them, field by field as their `describe` says.

#include "base/json.hpp"
#include "base/text.hpp"
#include "gang/protocol/message_fields.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::gang::fields {

/// Quotes the beginning of a wrong value for an error.
std::string quote(const json::value& value);

/// Parses JSON that nests no deeper than any description. Fails with `BadData`.
[[nodiscard]] Result<json::value> parse(std::string_view text);

// The types nest three levels deep, and so do the calls.
// NOLINTBEGIN(misc-no-recursion)

class Writer {
 public:
  /// Limits texts to 1/`share` of their usual maximum.
  explicit Writer(std::size_t share) : share_(share) {}

  void operator()(const char* name, auto& value, const auto& kind) { object_[name] = write(value, kind); }
  template <typename T, typename Kind>
  void operator()(const char* name, std::optional<T>& value, const Kind& kind) {
    if (value) {
      object_[name] = write(*value, kind);
    }
  }
  template <typename T, typename Kind>
  void operator()(const char* name, std::optional<T>& value, const Nullable<Kind>& nullable) {
    object_[name] = value ? write(*value, nullable.kind) : json::value();
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

  json::object& object() { return object_; }
  /// The JSON, followed by the tail if there is one.
  std::string text() const {
    std::string text = json::serialize(object_);
    return tail_.empty() ? text : text.append(1, '\0').append(tail_);
  }

  template <std::integral T>
  json::value write(T value, const Integer& range) const {
    return std::clamp(static_cast<int>(value), range.least, range.most);
  }
  json::value write(EndKind kind, const Integer& range) const { return write(static_cast<int>(kind), range); }
  json::value write(Rank auto rank, const Integer& range) const { return write(rank.value, range); }
  json::value write(bool value, const Flag& /*flag*/) const { return value; }
  json::value write(double value, const Seconds& /*seconds*/) const {
    return value > 0 ? std::min(value, kMostSeconds) : 0.0;  // also replaces a NaN, which is not greater
  }
  json::value write(std::chrono::milliseconds value, const Seconds& seconds) const {
    return write(std::chrono::duration<double>(value).count(), seconds);
  }
  json::value write(const std::string& value, const Text& text) const {
    constexpr std::size_t kLeast = 16;
    const std::size_t most = std::max(text.most / share_, kLeast);
    return json::string(text.is_line ? one_line(value, most) : shortened(value, most));
  }
  json::value write(Verdict verdict, const VerdictName& /*name*/) const { return json::string(verdict_name(verdict)); }
  json::value write(auto& value, const Object& /*object*/) const {
    Writer inner(share_);
    describe(inner, value);
    return std::move(inner.object());
  }
  template <typename T, typename Kind>
  json::value write(std::vector<T>& values, const List<Kind>& list) const {
    const std::size_t count = std::min(values.size(), list.most);
    const std::size_t first = list.keep == Keep::Last ? values.size() - count : 0;
    json::array array;
    for (std::size_t i = first; i < first + count; ++i) {
      array.push_back(write(values[i], list.item));
    }
    return array;
  }
  template <typename T, typename Kind>
  json::value write(Named<T>& members, const Members<Kind>& kind) const {
    json::object object;
    for (auto& [name, value] : members) {
      object.emplace(valid_utf8(name), write(value, kind.item));
    }
    return object;
  }

 private:
  std::size_t share_;
  json::object object_;
  std::string_view tail_;
};

/// Reads fields, and keeps the first error; fields that are read after an error do not matter.
class Reader {
 public:
  Reader(const json::object& object, std::string path, std::string& error)
      : object_(object), path_(std::move(path)), error_(error) {}

  /// Sets the bytes after the JSON, which belong to the outermost object.
  void set_tail(std::string_view tail) { tail_ = tail; }
  bool has_unread_tail() const { return !tail_.empty(); }

  void operator()(const char* name, auto& value, const auto& kind) {
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
  void read(const std::string& path, const json::value& value, auto& inner_value, const Object& /*kind*/) {
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
  template <typename T, typename Kind>
  void read(const std::string& path, const json::value& value, Named<T>& members, const Members<Kind>& kind) {
    if (!value.is_object()) {
      reject(path, value, "an object");
      return;
    }
    for (const auto& member : value.get_object()) {
      members.emplace_back(std::string(member.key()), T{});
      read(path + "." + members.back().first, member.value(), members.back().second, kind.item);
    }
  }
  template <typename T, typename Kind>
  void read(const std::string& path, const json::value& value, T& item, const Nullable<Kind>& nullable) {
    read(path, value, item, nullable.kind);
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

  const json::object& object_;
  std::string_view tail_;
  std::string path_;  ///< path of the object, with a final dot
  std::string& error_;
};
// NOLINTEND(misc-no-recursion)

/// Reads and writes a value that is not a member of another one: an object, or a list of objects.
template <typename T>
struct FormOf {
  static constexpr Object kKind{};
};
template <typename T>
struct FormOf<std::vector<T>> {
  static constexpr List<Object> kKind{kMostInt, Keep::First, {}};
};

template <typename T>
std::string write_json(T value) {
  return json::serialize(Writer(1).write(value, FormOf<T>::kKind));
}

/// Fails with `BadData`, naming the wrong field and what was expected.
template <typename T>
[[nodiscard]] Result<T> read_json(std::string_view text) {
  const json::value document = TRY(parse(text));
  std::string problem;
  T value;
  Reader({}, "", problem).read("value", document, value, FormOf<T>::kKind);
  return problem.empty() ? Result<T>(std::move(value)) : Error{ErrorKind::BadData, problem};
}

}  // namespace muster::gang::fields
