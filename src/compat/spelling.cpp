// How values of variables are written: as Python writes what it has read.
#include "compat/python_integer.hpp"
#include "compat/variables.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace muster::accelerate {
namespace {

std::string in_letters(std::string text, int (*letter)(int)) {
  std::transform(text.begin(), text.end(), text.begin(), [letter](unsigned char c) {
    return static_cast<char>(letter(c));
  });
  return text;
}

/// As repr() writes a float: the fewest digits that are read back as the same, and a point. Empty: the text is none.
/// Source: Python's "Floating Point Arithmetic"; float_repr_style "short", exponents below -4 and from 16 on.
std::optional<std::string> find_python_float(std::string_view text) {
  constexpr double kSmallest = 1e-4;
  constexpr double kLargest = 1e16;
  constexpr std::size_t kLongest = 32;
  double number = 0;
  text = trim(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  const double size = std::fabs(number);
  const bool is_plain = size == 0 || (size >= kSmallest && size < kLargest);
  std::array<char, kLongest> digits{};
  const auto written =
      std::to_chars(digits.begin(),
                    digits.end(),
                    number,
                    is_plain ? std::chars_format::fixed : std::chars_format::scientific);
  const std::string result(digits.begin(), written.ptr);
  return is_plain && result.find('.') == std::string::npos ? result + ".0" : result;
}

/// A single letter or digit is none in YAML.
std::string truth_text(const Sourced<std::string>& value) {
  const auto truth = value.value.size() > 1 ? read_truth(value.value) : std::nullopt;
  return truth ? (*truth ? "True" : "False") : value.value;
}

Result<std::string> decimal_text(const Sourced<std::string>& value) {
  const auto number = find_python_float(value.value);
  if (!number && value.source.kind == SourceKind::Flag) {
    return wrong_value(value, "a number");
  }
  const bool is_integer = value.source.kind == SourceKind::File &&
                          value.value.find_first_of(".eE") == std::string::npos;
  return is_integer ? value.value : number.value_or(value.value);
}

Result<std::string> bit_text(const Sourced<std::string>& value) {
  const auto truth = read_truth(value.value);
  return truth ? Result<std::string>(*truth ? "1" : "0") : wrong_value(value, "true or false");
}

Result<std::string> check_number(const Sourced<std::string>& value) {
  return value.source.kind == SourceKind::File || find_python_integer(value.value)
             ? Result<std::string>(value.value)
             : wrong_value(value, "a number");
}

Result<std::string> flag_text(const WorkerVariable& variable, const Sourced<std::string>& value) {
  switch (variable.spelling) {
    case Spelling::Nonempty:
      return std::string("True");
    case Spelling::Bit:
      return bit_text(value);
    default:
      break;
  }
  const bool is_number = std::string_view(variable.argument) == "N";
  return is_number && variable.choices == nullptr ? check_number(value)
                                                  : Result<std::string>(value.value);
}

}  // namespace

std::optional<bool> read_truth(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTrue = {"true", "yes", "on", "y", "t", "1"};
  constexpr std::array<std::string_view, 6> kFalse = {"false", "no", "off", "n", "f", "0"};
  const std::string small = in_letters(std::string(text), std::tolower);
  if (std::find(kTrue.begin(), kTrue.end(), small) != kTrue.end()) {
    return true;
  }
  return std::find(kFalse.begin(), kFalse.end(), small) != kFalse.end() ? std::optional(false)
                                                                        : std::nullopt;
}

Result<std::string> text_of(const WorkerVariable& variable, const Sourced<std::string>& value) {
  const bool is_of_file = value.source.kind == SourceKind::File;
  if (variable.argument == nullptr) {
    return is_of_file ? truth_text(value) : std::string("True");
  }
  if (variable.spelling == Spelling::Decimal) {
    return decimal_text(value);
  }
  if (variable.spelling == Spelling::Lower) {
    return in_letters(value.value, std::tolower);
  }
  if (variable.spelling == Spelling::Upper) {
    return in_letters(value.value, std::toupper);
  }
  const bool is_truth = variable.spelling != Spelling::Text;
  if (is_of_file) {
    return is_truth ? truth_text(value) : value.value;
  }
  return flag_text(variable, value);
}

}  // namespace muster::accelerate
