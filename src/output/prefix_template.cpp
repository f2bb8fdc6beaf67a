// What lines begin with, as the user wrote it. Pure: the syntax is that of Python's string.Template,
// in which torchrun reads TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE.
#include "base/text.hpp"
#include "output/prefix_template.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

/// The first three are torchrun's.
constexpr auto kNames = std::to_array<std::string_view>({"role_name",
                                                         "local_rank",
                                                         "rank",
                                                         "global_rank",
                                                         "role",
                                                         "role_rank",
                                                         "node_rank",
                                                         "attempt",
                                                         "hostname",
                                                         "pid"});

bool is_letter(char character) {
  return character == '_' || (character >= 'a' && character <= 'z') ||
         (character >= 'A' && character <= 'Z');
}

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

/// The name that `text` begins with; empty if it begins with none.
std::string_view name_at_start(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() &&
         (is_letter(text[length]) || (length > 0 && is_digit(text[length])))) {
    ++length;
  }
  return text.substr(0, length);
}

/// A dollar sign and what belongs to it.
struct Reference {
  std::size_t length = 1;  ///< characters of the template
  bool is_name = false;
  std::string text = "$";  ///< the name, or what it stands for
};

/// What the dollar sign at the start of `rest` means; one that begins nothing is itself.
Reference read_reference(std::string_view rest) {
  if (rest.starts_with("$$")) {
    return {2, false, "$"};
  }
  if (!rest.starts_with("${")) {
    const std::string_view name = name_at_start(rest.substr(1));
    return name.empty() ? Reference{} : Reference{1 + name.size(), true, std::string(name)};
  }
  const std::size_t end = rest.find('}');
  if (end == std::string_view::npos) {
    return {rest.size(), true, std::string(rest.substr(1))};  // with its brace, which no name has
  }
  return {end + 1, true, std::string(rest.substr(2, end - 2))};
}

bool is_known(std::string_view name) {
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

Error unknown_name(const Sourced<std::string>& text) {
  std::string names;
  for (const std::string_view name : kNames) {
    names += (names.empty() ? "${" : ", ${") + std::string(name) + "}";
  }
  return wrong_value(text, "a text with no other names than " + names);
}

}  // namespace

Result<PrefixTemplate> PrefixTemplate::read(const Sourced<std::string>& text,
                                            UnknownNames unknown_names) {
  PrefixTemplate result;
  std::string_view rest = text.value;
  while (!rest.empty()) {
    const std::size_t dollar = std::min(rest.find('$'), rest.size());
    if (dollar > 0) {
      result.pieces_.push_back({false, std::string(rest.substr(0, dollar))});
      rest.remove_prefix(dollar);
      continue;
    }
    Reference reference = read_reference(rest);
    const bool is_unknown = reference.is_name && !is_known(reference.text);
    if (is_unknown && unknown_names == UnknownNames::Refused) {
      return unknown_name(text);
    }
    if (is_unknown) {
      reference = {reference.length, false, std::string(rest.substr(0, reference.length))};
    }
    result.pieces_.push_back({reference.is_name, std::move(reference.text)});
    rest.remove_prefix(reference.length);
  }
  return result;
}

bool PrefixTemplate::needs(std::string_view name) const {
  return std::any_of(pieces_.begin(), pieces_.end(), [name](const Piece& piece) {
    return piece.is_name && piece.text == name;
  });
}

std::string PrefixTemplate::fill(const std::map<std::string, std::string>& values) const {
  std::string filled;
  for (const Piece& piece : pieces_) {
    if (!piece.is_name) {
      filled += piece.text;
    } else if (const auto value = values.find(piece.text); value != values.end()) {
      filled += value->second;
    }
  }
  return filled;
}

}  // namespace muster
