// Follows imports and assignments of a Python script, without executing anything.
#include "compat/python_names.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

/// What only the worker of a launcher finds in its environment.
constexpr auto kOfLaunchers = std::to_array<std::string_view>({"LOCAL_RANK",
                                                               "LOCAL_WORLD_SIZE",
                                                               "GROUP_RANK",
                                                               "RANK",
                                                               "WORLD_SIZE",
                                                               "TORCHELASTIC_RUN_ID",
                                                               "is_torchelastic_launched"});

bool is_of_launchers(std::string_view text) {
  return std::find(kOfLaunchers.begin(), kOfLaunchers.end(), text) != kOfLaunchers.end();
}

}  // namespace

void PythonNames::learn(Words statement) {
  if (statement.front().is("import")) {
    learn_import(statement.subspan(1), "");
  } else if (statement.front().is("from")) {
    learn_from(statement.subspan(1));
  } else {
    learn_assignment(statement);
  }
}

/// A, B.C as D
void PythonNames::learn_import(Words words, const std::string& of) {
  for (const Words& part : cut(words, ",")) {
    const std::vector<Words> names = cut(part, "as");
    const std::string whole = of + as_dotted(names.front());
    if (names.size() == 2 && names.back().size() == 1) {
      imports_[std::string(names.back().front().text)].insert(whole);
    } else if (!of.empty() && !names.front().empty()) {
      imports_[std::string(names.front().front().text)].insert(whole);
    }
  }
}

/// A.B import C as D, (E)
void PythonNames::learn_from(Words words) {
  const std::vector<Words> parts = cut(words, "import");
  if (parts.size() != 2 || parts.front().empty()) {
    return;
  }
  Words names = parts.back();
  if (names.size() > 1 && names.front().is("(") && names.back().is(")")) {
    names = names.subspan(1, names.size() - 2);
  }
  learn_import(names, as_dotted(parts.front()) + ".");
}

/// NAME = ...
void PythonNames::learn_assignment(Words words) {
  const bool is_one = words.size() > 2 && words[0].kind == PythonWordKind::Name &&
                      words[1].is("=") && !words[2].is("=");
  if (!is_one) {
    return;
  }
  const std::string name(words[0].text);
  const bool is_number = words.size() == 3 && words[2].kind == PythonWordKind::Number;
  const auto [at, is_new] = numbers_.insert({name, is_number ? words[2].text : std::string_view()});
  at->second = is_new ? at->second : std::string_view();
  if (name_launcher(words.subspan(2))) {
    from_launcher_.insert(name);
  }
}

PythonNames::Meanings PythonNames::meanings_of(Words dotted) const {
  const std::string rest = as_dotted(dotted.subspan(1));
  const std::string first(dotted.front().text);
  const auto imported = imports_.find(first);
  if (imported == imports_.end()) {
    return {first + rest};
  }
  Meanings meanings;
  for (const std::string& meaning : imported->second) {
    meanings.insert(meaning + rest);
  }
  return meanings;
}

std::string_view PythonNames::number_of(Words value) const {
  if (value.size() != 1) {
    return {};
  }
  const auto number = numbers_.find(value.front().text);
  return number == numbers_.end() ? value.front().text : number->second;
}

bool PythonNames::name_launcher(Words words) const {
  return std::any_of(words.begin(), words.end(), [&](const PythonWord& word) {
    return is_of_launchers(word.text) ||
           (word.kind == PythonWordKind::Name && from_launcher_.contains(word.text));
  });
}

}  // namespace muster
