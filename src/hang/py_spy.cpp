// Reads an array of threads: {os_thread_id, thread_name, frames: [{name, filename, line, ...}], ...}, innermost first.
#include "hang/py_spy.hpp"

#include "base/json.hpp"
#include "base/text.hpp"

#include <string>

namespace muster::hang {
namespace {

constexpr std::size_t kMostPySpyText = 400;
constexpr std::size_t kMostPySpyFrames = 200;

const json::value& field_of(const json::object& object, std::string_view name) {
  static const json::value none;
  const json::value* const value = object.if_contains(name);
  return value == nullptr ? none : *value;
}

std::string text_of(const json::object& object, std::string_view name) {
  const json::string* const text = field_of(object, name).if_string();
  return text == nullptr ? "" : one_line(std::string_view(*text), kMostPySpyText);
}

/// 0: there is no such number.
template <typename Number>
Number count_at(const json::object& object, std::string_view name) {
  boost::system::error_code error;
  const json::value& value = field_of(object, name);
  const Number number = value.is_number() ? value.to_number<Number>(error) : Number{0};
  return error || number < 0 ? Number{0} : number;
}

Stack frames_of(const json::object& thread) {
  Stack stack;
  const json::array* const frames = field_of(thread, "frames").if_array();
  for (std::size_t i = 0; frames != nullptr && i < frames->size() && i < kMostPySpyFrames; ++i) {
    const json::object* const frame = frames->at(i).if_object();
    if (frame != nullptr && frame->contains("name")) {
      stack.push_back({text_of(*frame, "filename"), text_of(*frame, "name"), count_at<int>(*frame, "line")});
    }
  }
  return stack;
}

/// The main thread; null: the answer has none.
const json::object* find_main(const json::array& threads, std::uint64_t thread) {
  const json::object* named = nullptr;
  for (const json::value& value : threads) {
    const json::object* const one = value.if_object();
    if (one != nullptr && count_at<std::uint64_t>(*one, "os_thread_id") == thread) {
      return one;
    }
    named = one != nullptr && text_of(*one, "thread_name") == "MainThread" ? one : named;
  }
  return named;
}

}  // namespace

Result<Stack> read_py_spy(std::string_view answer, std::uint64_t thread) {
  boost::system::error_code error;
  const json::value document = json::parse(answer, error);
  const json::array* const threads = error ? nullptr : document.if_array();
  if (threads == nullptr) {
    const std::string reason = one_line(answer.substr(0, answer.find('\n')), kMostPySpyText);
    return Error{ErrorKind::BadData, "py-spy: " + (reason.empty() ? "no answer" : reason)};
  }
  const json::object* const main = find_main(*threads, thread);
  Stack stack = main == nullptr ? Stack() : frames_of(*main);
  if (stack.empty()) {
    return Error{ErrorKind::BadData, "py-spy has found no call of the main thread"};
  }
  return stack;
}

}  // namespace muster::hang
