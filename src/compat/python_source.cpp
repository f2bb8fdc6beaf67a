// Cuts Python's source into words and follows its names. Source: The Python Language Reference, 2. Lexical analysis.
#include "compat/python_source.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

bool is_letter(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || byte >= 0x80;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// True for r, b, u, f and their pairs, which may stand before a quote.
bool is_prefix(std::string_view word) {
  return word.size() <= 2 && word.find_first_not_of("rRbBuUfF") == std::string_view::npos;
}

class PythonReader {
 public:
  explicit PythonReader(std::string_view text) : text_(text) {}

  std::vector<PythonLine> read() {
    while (at_ < text_.size()) {
      step();
    }
    finish_line();
    return std::move(lines_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\n') {
      end_line();
    } else if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '\\' && is_at_line_end(at_ + 1)) {
      at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1;
      ++number_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      take_blank(c);
    } else if (c == '"' || c == '\'') {
      take_string();
    } else if (is_letter(c)) {
      take_name();
    } else if (is_digit(c)) {
      take_number();
    } else {
      take_sign(c);
    }
  }

  [[nodiscard]] bool is_at_line_end(std::size_t at) const {
    return at >= text_.size() || text_[at] == '\n' ||
           (text_[at] == '\r' && (at + 1 >= text_.size() || text_[at + 1] == '\n'));
  }

  void end_line() {
    ++at_;
    ++number_;
    if (depth_ == 0) {
      finish_line();
    }
  }

  void finish_line() {
    if (!line_.words.empty()) {
      lines_.push_back(std::move(line_));
    }
    line_ = {};
    indent_ = 0;
  }

  void take_blank(char c) {
    if (line_.words.empty()) {
      indent_ = c == '\t' ? (indent_ / 8 + 1) * 8 : c == ' ' ? indent_ + 1 : 0;
    }
    ++at_;
  }

  void add(PythonWordKind kind, std::size_t from, std::size_t end) {
    if (line_.words.empty()) {
      line_.number = number_;
      line_.indent = indent_;
    }
    line_.words.push_back({kind, text_.substr(from, end - from)});
  }

  /// Takes a string, from its opening quote on. An unclosed string of single quotes ends with its line.
  void take_string() {
    const std::string three(3, text_[at_]);
    const bool is_long = text_.substr(at_, 3) == three;
    const std::size_t from = at_ + (is_long ? 3 : 1);
    const std::size_t end = find_string_end(from, is_long ? three : three.substr(0, 1));
    const std::string_view string = text_.substr(from, end - from);
    add(PythonWordKind::String, from, end);
    number_ += static_cast<std::size_t>(std::count(string.begin(), string.end(), '\n'));
    const bool is_cut = end >= text_.size() || (!is_long && text_[end] == '\n');
    at_ = is_cut ? end : end + (is_long ? 3 : 1);
  }

  /// Index of the closing quotes, or of the end of an unclosed string.
  [[nodiscard]] std::size_t find_string_end(std::size_t from, std::string_view quotes) const {
    std::size_t end = from;
    while (end < text_.size() && text_.substr(end, quotes.size()) != quotes) {
      if (quotes.size() == 1 && text_[end] == '\n') {
        break;
      }
      end += text_[end] == '\\' ? 2 : 1;
    }
    return std::min(end, text_.size());
  }

  void take_name() {
    const std::size_t end = skip_while(at_, [](char c) { return is_letter(c) || is_digit(c); });
    const bool is_quoted = end < text_.size() && (text_[end] == '"' || text_[end] == '\'');
    if (is_quoted && is_prefix(text_.substr(at_, end - at_))) {
      at_ = end;
      take_string();
      return;
    }
    add(PythonWordKind::Name, at_, end);
    at_ = end;
  }

  void take_number() {
    const std::size_t end = skip_while(at_, [](char c) { return is_letter(c) || is_digit(c) || c == '.'; });
    add(PythonWordKind::Number, at_, end);
    at_ = end;
  }

  void take_sign(char c) {
    if (c == '(' || c == '[' || c == '{') {
      ++depth_;
    } else if (c == ')' || c == ']' || c == '}') {
      depth_ -= depth_ > 0 ? 1 : 0;
    }
    add(PythonWordKind::Sign, at_, at_ + 1);
    ++at_;
  }

  template <typename Condition>
  [[nodiscard]] std::size_t skip_while(std::size_t at, const Condition& condition) const {
    while (at < text_.size() && condition(text_[at])) {
      ++at;
    }
    return at;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t number_ = 1;
  std::size_t indent_ = 0;
  std::size_t depth_ = 0;
  PythonLine line_;
  std::vector<PythonLine> lines_;
};

bool is_bracket(const PythonWord& word, std::string_view brackets) {
  return word.kind == PythonWordKind::Sign && brackets.find(word.text) != std::string_view::npos;
}

}  // namespace

std::vector<PythonLine> read_python(std::string_view text) {
  return PythonReader(text).read();
}

std::size_t find_close(Words words, std::size_t from) {
  int depth = 0;
  for (std::size_t i = from; i < words.size(); ++i) {
    depth += is_bracket(words[i], "([{") ? 1 : 0;
    depth -= is_bracket(words[i], ")]}") ? 1 : 0;
    if (depth == 0) {
      return i;
    }
  }
  return words.size();
}

std::vector<Words> cut(Words words, std::string_view at) {
  std::vector<Words> parts;
  std::size_t from = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (is_bracket(words[i], "([{")) {
      i = std::min(find_close(words, i), words.size() - 1);
    } else if (words[i].is(at)) {
      parts.push_back(words.subspan(from, i - from));
      from = i + 1;
    }
  }
  parts.push_back(words.subspan(from));
  return parts;
}

std::string as_dotted(Words words) {
  std::string text;
  for (const PythonWord& word : words) {
    text += word.text;
  }
  return text;
}

std::string as_written(Words words) {
  constexpr std::size_t kMost = 40;
  std::string text;
  for (const PythonWord& word : words) {
    const bool is_string = word.kind == PythonWordKind::String;
    text += is_string ? "'" + std::string(word.text) + "'" : std::string(word.text);
  }
  return shortened(text, kMost);
}

// Follows imports and assignments of a Python script without executing it.

namespace {

/// Names that a script finds only as a worker of a launcher, in its environment or in torch.
constexpr auto kOfLaunchers =
    std::to_array<std::string_view>({"LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "RANK", "WORLD_SIZE",
                                     "TORCHELASTIC_RUN_ID", "is_torchelastic_launched"});

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

/// Reads `A, B.C as D`.
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

/// Reads `A.B import C as D, (E)`.
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

/// Reads `NAME = ...`.
void PythonNames::learn_assignment(Words words) {
  const bool is_one =
      words.size() > 2 && words[0].kind == PythonWordKind::Name && words[1].is("=") && !words[2].is("=");
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
    return std::find(kOfLaunchers.begin(), kOfLaunchers.end(), word.text) != kOfLaunchers.end() ||
           (word.kind == PythonWordKind::Name && from_launcher_.contains(word.text));
  });
}

// Follows the calls of functions back to the script itself.

bool FunctionCalls::has(const std::vector<Caller>& callers, Reachability reach) {
  return std::any_of(callers.begin(), callers.end(), [&](const Caller& one) { return one.reach == reach; });
}

const std::vector<FunctionCalls::Caller>& FunctionCalls::callers_of(const std::string& function) const {
  static const std::vector<Caller> none;
  const auto callers = callers_.find(function);
  return callers == callers_.end() ? none : callers->second;
}

std::vector<std::string> FunctionCalls::take_new(const std::vector<Caller>& callers, std::set<std::string>& seen) {
  std::vector<std::string> ones;
  for (const Caller& caller : callers) {
    if (caller.reach == Reachability::Certain && seen.insert(caller.function).second) {
      ones.push_back(caller.function);
    }
  }
  return ones;
}

Reachability FunctionCalls::reach_of(const std::string& function) const {
  std::vector<std::string> left = {function};
  std::set<std::string> seen = {function};  // functions that certainly lead to it
  bool is_decided = false;                  // a launcher's variable decides about one way to it
  bool is_free = false;                     // no launcher's variable decides about another way
  while (!left.empty()) {
    const std::vector<Caller>& callers = callers_of(left.back());
    left.pop_back();
    is_free = is_free || callers.empty() || has(callers, Reachability::Possible);
    is_decided = is_decided || has(callers, Reachability::Launched);
    for (const std::string& caller : take_new(callers, seen)) {
      left.push_back(caller);
    }
  }
  if (seen.contains("")) {
    return Reachability::Certain;
  }
  return is_decided && !is_free ? Reachability::Launched : Reachability::Possible;
}

}  // namespace muster
