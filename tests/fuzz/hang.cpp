// Readers of what programs and other nodes say of a hang: the memory of a Python program, its mappings and its file,
// and the lines of other nodes.
#include "fuzz.hpp"
#include "hang/occupation.hpp"
#include "hang/process_memory.hpp"
#include "hang/py_spy.hpp"
#include "hang/verdict.hpp"

#include <algorithm>
#include <cstring>

namespace muster::fuzz {
namespace {

/// Memory whose bytes repeat without end: any pointer leads somewhere, also in circles.
class EndlessMemory final : public hang::Memory {
 public:
  explicit EndlessMemory(std::string bytes) : bytes_(std::move(bytes)) {}

  bool read(std::uint64_t address, void* to, std::size_t size) const override {
    constexpr std::size_t kMost = 2'048;  // large blocks cost time and find nothing new
    if (size > kMost) {
      return false;
    }
    auto* const out = static_cast<char*>(to);
    std::size_t from = address % bytes_.size();
    for (std::size_t done = 0; done < size;) {
      const std::size_t part = std::min(size - done, bytes_.size() - from);
      std::memcpy(out + done, bytes_.data() + from, part);
      done += part;
      from = 0;
    }
    return true;
  }

 private:
  std::string bytes_;
};

void check_frames(const hang::Stack& stack) {
  for (const hang::Frame& frame : stack) {
    for (const std::string& name : {frame.file, frame.function}) {
      require(std::ranges::none_of(name, [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }),
              "a name may be printed");
    }
    require(frame.line >= 0, "a line is none or counted from 1");
  }
}

/// The table of a Python of a known version, with offsets from the input.
void check_stack(std::string_view text) {
  std::string bytes("xdebugpy");
  bytes += std::string({'\0', '\0', text.size() % 2 == 0 ? '\x0d' : '\x0e', '\x03', '\0', '\0', '\0', '\0'});
  for (std::size_t i = 0; i < 79; ++i) {
    bytes += std::string({i < text.size() ? text[i] : '\0', '\0', '\0', '\0', '\0', '\0', '\0', '\0'});
  }
  bytes += text;
  const auto stack = hang::read_python_stack(EndlessMemory(bytes), 0, 1);
  require(!stack || stack->size() <= 200, "a stack ends");
  check_frames(stack ? *stack : hang::Stack());
}

/// The answer of py-spy: the input itself, and as the frames of a main thread.
void check_py_spy(std::string_view text) {
  const std::string frames = R"([{"os_thread_id": 1, "frames": )" + std::string(text) + "}]";
  for (const std::string_view answer : {text, std::string_view(frames)}) {
    const auto threads = hang::read_py_spy(answer, 1);
    require(!threads || !threads->front().stack.empty(), "the main thread has calls");
    for (const hang::Thread& thread : threads ? *threads : std::vector<hang::Thread>()) {
      require(thread.stack.size() <= 200, "a stack ends");
      check_frames(thread.stack);
    }
    (void)hang::find_training_thread(threads ? *threads : std::vector<hang::Thread>());
  }
}

void check_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size()) + 1) {
    lines.emplace_back(text.substr(at, text.find('\n', at) - at));
  }
  const hang::Evidence evidence = hang::join_lines(lines);
  const hang::Verdict verdict = hang::judge(evidence.ranks);
  require(
      verdict.finding != hang::Finding::Named || verdict.ranks.size() < std::max<std::size_t>(evidence.ranks.size(), 1),
      "somebody waits for those named");
  (void)hang::describe(verdict, evidence, static_cast<int>(evidence.ranks.size()));
  (void)hang::stacks_document(evidence.ranks);
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  if (size == 0) {
    return 0;
  }
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::check_stack(text);
  fuzz::check_py_spy(text);
  fuzz::check_lines(text);
  fuzz::require(hang::line_at(text, text.front(), size) >= 0, "a line is none or counted from 1");
  (void)hang::find_python_mappings(text);
  (void)hang::find_section(fuzz::EndlessMemory(std::string(text)), ".PyRuntime");
  return 0;
}
