// Reads an array of threads: {os_thread_id, thread_name, frames: [{name, filename, line, ...}], ...}, innermost first.
#include "hang/py_spy.hpp"

#include "base/json.hpp"
#include "base/text.hpp"
#include "hang/json_fields.hpp"

#include <algorithm>
#include <string>

namespace muster::hang {
namespace {

Stack frames_of(const json::object& thread) {
  Stack stack;
  const json::array* const frames = array_of(thread, "frames");
  for (std::size_t i = 0; frames != nullptr && i < frames->size() && i < kMostFrames; ++i) {
    const json::object* const frame = frames->at(i).if_object();
    if (frame != nullptr && frame->contains("name")) {
      stack.push_back({line_of(*frame, "filename"), line_of(*frame, "name"),
                       std::max(number_of(frame->if_contains("line"), 0), 0)});
    }
  }
  return stack;
}

/// The main thread; null: the answer has none.
const json::object* find_main(const json::array& threads, std::uint64_t thread) {
  const json::object* named = nullptr;
  for (const json::value& value : threads) {
    const json::object* const one = value.if_object();
    if (one != nullptr && number_of<std::uint64_t>(one->if_contains("os_thread_id"), 0) == thread) {
      return one;
    }
    named = one != nullptr && line_of(*one, "thread_name") == "MainThread" ? one : named;
  }
  return named;
}

}  // namespace

Result<std::vector<Thread>> read_py_spy(std::string_view answer, std::uint64_t main) {
  boost::system::error_code error;
  const json::value document = json::parse(answer, error);
  const json::array* const threads = error ? nullptr : document.if_array();
  if (threads == nullptr) {
    const std::string reason = one_line(answer.substr(0, answer.find('\n')), kMostTextBytes);
    return Error{ErrorKind::BadData, "py-spy: " + (reason.empty() ? "no answer" : reason)};
  }
  const json::object* const first = find_main(*threads, main);
  std::vector<Thread> found{{main, first == nullptr ? Stack() : frames_of(*first)}};
  if (found.front().stack.empty()) {
    return Error{ErrorKind::BadData, "py-spy has found no call of the main thread"};
  }
  for (const json::value& value : *threads) {
    const json::object* const one = value.if_object();
    if (one != nullptr && one != first && found.size() < kMostThreads) {
      found.push_back({number_of<std::uint64_t>(one->if_contains("os_thread_id"), 0), frames_of(*one)});
    }
  }
  return found;
}

}  // namespace muster::hang
