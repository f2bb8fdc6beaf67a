// Pairs the nodes by the circle method, and writes and reads the lines of the check as words between blanks.
#include "gang/link_check.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace muster::gang {
namespace {

constexpr int kMostNumber = std::numeric_limits<int>::max();
constexpr std::size_t kMostAddressBytes = 45;
constexpr std::size_t kMostLinkKeyBytes = 32;
constexpr std::size_t kMostLinkLineBytes = 2'048;

constexpr const char* kListenWord = "listen";
constexpr const char* kPortWord = "listens";
constexpr const char* kPlanWord = "measure";
constexpr const char* kResultsWord = "measured";
constexpr const char* kRestWord = "rest";
constexpr const char* kWaitWord = "wait";
constexpr const char* kNoneWord = "none";
constexpr const char* kSilentWord = "silent";
constexpr const char* kRefusalWord = "cannot";

/// A line of the check: its first word, the number of the check, and the rest.
struct LinkLine {
  int check = 0;
  std::vector<std::string> words;
};

std::optional<LinkLine> read_link_line(std::string_view text, std::string_view first) {
  if (text.size() > kMostLinkLineBytes) {
    return std::nullopt;
  }
  std::vector<std::string> words = muster::split(text, ' ');
  const auto check = words.size() > 1 ? parse_integer(words[1], 0, kMostNumber) : std::nullopt;
  if (!check || words.front() != first) {
    return std::nullopt;
  }
  words.erase(words.begin(), words.begin() + 2);
  return LinkLine{*check, std::move(words)};
}

std::string start_of_line(const char* word, int check) {
  return std::string(word) + " " + std::to_string(check);
}

/// True for digits, letters, dots and colons of a numeric address. A zone has a meaning only on its own node.
bool is_link_address(std::string_view text) {
  return !text.empty() && text.size() <= kMostAddressBytes &&
         std::ranges::all_of(text, [](char c) { return is_letter_or_digit(c) || c == '.' || c == ':'; });
}

bool is_link_key(std::string_view text) {
  return !text.empty() && text.size() <= kMostLinkKeyBytes && std::ranges::all_of(text, is_letter_or_digit);
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  constexpr int kLeast = 1'024;  // nobody should connect to a service of the system
  const auto port = parse_integer(text, kLeast, std::numeric_limits<std::uint16_t>::max());
  return port ? std::optional(static_cast<std::uint16_t>(*port)) : std::nullopt;
}

/// Reads a step: "rest", "wait", or "10.0.0.3,7001,KEY".
std::optional<LinkStep> parse_link_step(const std::string& word) {
  if (word == kRestWord || word == kWaitWord) {
    return LinkStep{word == kRestWord ? LinkStep::Kind::Rest : LinkStep::Kind::Listen};
  }
  const std::vector<std::string> parts = muster::split(word, ',');
  const auto port = parts.size() == 3 ? parse_port(parts[1]) : std::nullopt;
  if (!port || !is_link_address(parts[0]) || !is_link_key(parts[2])) {
    return std::nullopt;
  }
  return LinkStep{LinkStep::Kind::Connect, parts[0], *port, parts[2]};
}

/// Reads a result: "120,9400000,0", "silent", or "none" (no result). Empty: it is no such word.
std::optional<std::optional<LinkResult>> parse_link_result(const std::string& word) {
  if (word == kNoneWord) {
    return std::optional<LinkResult>();
  }
  if (word == kSilentWord) {
    return std::optional(LinkResult{.is_silent = true});
  }
  const std::vector<std::string> parts = muster::split(word, ',');
  if (parts.size() != 3) {
    return std::nullopt;
  }
  const auto latency = parse_integer(parts[0], 0, kMostLinkLatency);
  const auto throughput = parse_integer(parts[1], 0, kMostNumber);
  const auto loss = parse_integer(parts[2], 0, kMostLinkLoss);
  if (!latency || !throughput || !loss) {
    return std::nullopt;
  }
  return std::optional(LinkResult{*latency, *throughput, *loss});
}

/// Reads each word by `parse`; empty: one cannot be read, or there are too many.
template <typename Item>
std::optional<std::vector<Item>> parse_words(const std::vector<std::string>& words,
                                             std::optional<Item> (*parse)(const std::string&)) {
  std::vector<Item> items;
  for (const std::string& word : words) {
    auto item = parse(word);
    if (!item || items.size() == kMostLinkRounds) {
      return std::nullopt;
    }
    items.push_back(*std::move(item));
  }
  return items;
}

}  // namespace

LinkRounds make_link_rounds(std::size_t nodes) {
  constexpr std::size_t kFewest = 3;
  const std::size_t seats = nodes + nodes % 2;  // if `nodes` is odd, one rests: its partner is no node
  const auto log2 = static_cast<std::size_t>(std::bit_width(nodes - 1));
  LinkRounds rounds(std::min({seats - 1, std::max(kFewest, log2), kMostLinkRounds}));
  const std::size_t turning = seats - 1;  // the last seat stays, and the others move on by one
  const auto add = [nodes](std::vector<LinkPair>& pairs, std::size_t one, std::size_t other) {
    if (one < nodes && other < nodes) {
      pairs.push_back({one, other});
    }
  };
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    add(rounds[round], round, turning);
    for (std::size_t i = 1; i < seats / 2; ++i) {
      add(rounds[round], (round + i) % turning, (round + turning - i) % turning);
    }
  }
  return rounds;
}

std::string to_text(const LinkListen& question) {
  return start_of_line(kListenWord, question.check) + " " + question.address;
}

std::optional<LinkListen> parse_link_listen(std::string_view text) {
  const auto line = read_link_line(text, kListenWord);
  if (!line || line->words.size() != 1 || !is_link_address(line->words[0])) {
    return std::nullopt;
  }
  return LinkListen{line->check, line->words[0]};
}

std::string to_text(const LinkPort& answer) {
  return start_of_line(kPortWord, answer.check) + " " + std::to_string(answer.port) + " " + answer.key;
}

std::optional<LinkPort> parse_link_port(std::string_view text) {
  const auto line = read_link_line(text, kPortWord);
  const auto port = line && line->words.size() == 2 ? parse_port(line->words[0]) : std::nullopt;
  if (!port || !is_link_key(line->words[1])) {
    return std::nullopt;
  }
  return LinkPort{line->check, *port, line->words[1]};
}

std::string to_text(const LinkRefusal& answer) {
  return start_of_line(kRefusalWord, answer.check);
}

std::optional<LinkRefusal> parse_link_refusal(std::string_view text) {
  const auto line = read_link_line(text, kRefusalWord);
  return line && line->words.empty() ? std::optional(LinkRefusal{line->check}) : std::nullopt;
}

std::string to_text(const LinkPlan& question) {
  std::string text = start_of_line(kPlanWord, question.check);
  for (const LinkStep& step : question.steps) {
    text += ' ';
    text += step.kind == LinkStep::Kind::Rest     ? kRestWord
            : step.kind == LinkStep::Kind::Listen ? kWaitWord
                                                  : step.address + "," + std::to_string(step.port) + "," + step.key;
  }
  return text;
}

std::optional<LinkPlan> parse_link_plan(std::string_view text) {
  const auto line = read_link_line(text, kPlanWord);
  auto steps = line ? parse_words<LinkStep>(line->words, parse_link_step) : std::nullopt;
  return steps ? std::optional(LinkPlan{line->check, *std::move(steps)}) : std::nullopt;
}

std::string to_text(const LinkResults& answer) {
  std::string text = start_of_line(kResultsWord, answer.check);
  for (const std::optional<LinkResult>& result : answer.rounds) {
    text += ' ';
    text += !result             ? kNoneWord
            : result->is_silent ? kSilentWord
                                : join(std::array{result->latency, result->throughput, result->loss}, ",");
  }
  return text;
}

std::optional<LinkResults> parse_link_results(std::string_view text) {
  const auto line = read_link_line(text, kResultsWord);
  auto rounds = line ? parse_words<std::optional<LinkResult>>(line->words, parse_link_result) : std::nullopt;
  return rounds ? std::optional(LinkResults{line->check, *std::move(rounds)}) : std::nullopt;
}

}  // namespace muster::gang
