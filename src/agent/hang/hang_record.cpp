// Writes looks at a hang as text and as JSON.
#include "agent/hang/hang_record.hpp"

#include "base/console_time.hpp"
#include "base/text.hpp"
#include "control/status.hpp"

#include <chrono>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t kMostStackBytes = std::size_t{32} << 10U;
constexpr std::size_t kMostSentenceBytes = 1'500;

/// The first stacks of the answer that fit into the report. The one that most ranks share comes first.
json::array most_stacks(const json::object& answer) {
  json::array kept;
  std::size_t size = 0;
  const json::value* const stacks = answer.if_contains("stacks");
  if (stacks == nullptr || !stacks->is_array()) {
    return kept;
  }
  for (const json::value& one : stacks->get_array()) {
    size += json::serialize(one).size();
    if (size > kMostStackBytes) {
      break;
    }
    kept.push_back(one);
  }
  return kept;
}

json::array sentences_of(const hang::StallDetector::Look& look) {
  json::array sentences;
  for (const std::string& sentence : look.verdict) {
    sentences.emplace_back(shortened(sentence, kMostSentenceBytes));
  }
  return sentences;
}

}  // namespace

json::object hang_document(const hang::StallDetector::Look& look, const json::object& answer) {
  return {{"why", look.why}, {"quiet_s", look.quiet}, {"verdict", sentences_of(look)}, {"stacks", most_stacks(answer)}};
}

void HangRecord::begin(const std::string& path) {
  file_.begin(path);
  forget();
}

void HangRecord::keep(const std::string& why, const json::object& answer) {
  (void)file_.append(utc_text(std::chrono::system_clock::now()) + " " + why + "\n" + hang::stacks_text(answer) +
                     control::silent_nodes_line(answer) + "\n");
}

void HangRecord::keep(const hang::StallDetector::Look& look, const json::object& answer, bool is_new) {
  last_ = json::serialize(hang_document(look, answer));
  if (is_new) {
    keep(look.why, answer);
  }
}

}  // namespace muster
