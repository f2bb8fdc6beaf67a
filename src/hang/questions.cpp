// Reads the list of --hang-ask.
#include "hang/questions.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace muster::hang {
namespace {

/// "stacks, py-spy, recorder and nccl".
std::string list_names() {
  std::string list;
  for (std::size_t i = 0; i < kQuestionNames.size(); ++i) {
    const bool is_last = i + 1 == kQuestionNames.size();
    list.append(i == 0 ? "" : is_last ? " and " : ", ").append(kQuestionNames.at(i));
  }
  return list;
}

}  // namespace

std::string_view name_of(Question question) {
  return kQuestionNames.at(static_cast<std::size_t>(question));
}

std::map<std::string, std::uint64_t> by_name(const AskedCounts& counts) {
  std::map<std::string, std::uint64_t> named;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    named[std::string(name_of(static_cast<Question>(i)))] = counts.at(i);
  }
  return named;
}

Result<std::set<Question>> read_questions(const Sourced<std::string>& given) {
  const std::vector<std::string> names = given.value == "none" ? std::vector<std::string>() : split(given.value, ',');
  const bool are_known =
      std::ranges::all_of(names, [](const std::string& name) { return contains(kQuestionNames, name); });
  if (given.value.empty() || !are_known) {
    return wrong_value(given, "none, or a list of " + list_names());
  }
  std::set<Question> questions;
  for (const std::string& name : names) {
    questions.insert(static_cast<Question>(std::ranges::find(kQuestionNames, name) - kQuestionNames.begin()));
  }
  return questions;
}

}  // namespace muster::hang
