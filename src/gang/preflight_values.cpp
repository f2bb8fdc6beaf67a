// Writes and reads the leader's request to run the command of --preflight-command.
#include "gang/preflight_values.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace muster::gang {
namespace {

constexpr const char* kWord = "command";

}  // namespace

std::string to_text(const CommandQuestion& question) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();  // 24 days
  const std::array numbers = {question.node, question.nodes, question.attempt,
                              static_cast<int>(std::min<std::int64_t>(question.limit.count(), kMost))};
  return std::string(kWord) + " " + join(numbers, " ");
}

std::optional<CommandQuestion> parse_command_question(std::string_view text) {
  const std::vector<std::string> words = muster::split(text, ' ');
  std::array<int, 4> numbers{};
  if (words.size() != numbers.size() + 1 || words.front() != kWord) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = parse_integer(words[i + 1], 0, std::numeric_limits<int>::max());
    if (!number) {
      return std::nullopt;
    }
    numbers[i] = *number;
  }
  return CommandQuestion{numbers[0], numbers[1], numbers[2], std::chrono::milliseconds(numbers[3])};
}

}  // namespace muster::gang
