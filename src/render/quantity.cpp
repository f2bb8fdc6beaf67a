// Reads quantities. Source: kubernetes.io, "Quantity" (k8s.io/apimachinery/pkg/api/resource).
#include "base/text.hpp"
#include "render/quantity.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace muster::render {
namespace {

/// Wide enough for the largest unit of the largest number that fits.
__extension__ using Wide = unsigned __int128;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// A unit is 10^exponent or 2^exponent.
struct Suffix {
  std::string_view text;
  int base;
  int exponent;
};

constexpr auto kSuffixes = std::to_array<Suffix>({
    {"", 10, 0},
    {"n", 10, -9},
    {"u", 10, -6},
    {"m", 10, -3},
    {"k", 10, 3},
    {"M", 10, 6},
    {"G", 10, 9},
    {"T", 10, 12},
    {"P", 10, 15},
    {"E", 10, 18},
    {"Ki", 2, 10},
    {"Mi", 2, 20},
    {"Gi", 2, 30},
    {"Ti", 2, 40},
    {"Pi", 2, 50},
    {"Ei", 2, 60},
});

/// "e3" and "E-2".
std::optional<Suffix> read_exponent(std::string_view text) {
  constexpr int kMostDigits = 99;
  if (text.size() < 2 || (text.front() != 'e' && text.front() != 'E')) {
    return std::nullopt;
  }
  text.remove_prefix(1);
  const bool is_negative = text.front() == '-';
  text.remove_prefix(is_negative || text.front() == '+' ? 1 : 0);
  const auto exponent = parse_integer(text, 0, kMostDigits);
  return exponent ? std::optional(Suffix{"", 10, is_negative ? -*exponent : *exponent})
                  : std::nullopt;
}

std::optional<Suffix> read_suffix(std::string_view text) {
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.text == text) {
      return suffix;
    }
  }
  return read_exponent(text);
}

/// A number times 10^-decimals, which grows and shrinks without losing anything but what is too much.
struct Scaled {
  Wide digits = 0;
  int decimals = 0;

  bool multiply(unsigned factor) {
    if (digits > static_cast<Wide>(kMost)) {
      return false;
    }
    digits *= factor;
    return true;
  }
};

std::int64_t in_thousandths(Scaled number, const Suffix& suffix) {
  constexpr unsigned kTen = 10;
  int shift = 3 - number.decimals + (suffix.base == kTen ? suffix.exponent : 0);
  for (int i = 0; suffix.base == 2 && i < suffix.exponent; ++i) {
    if (!number.multiply(2)) {
      return kMost;
    }
  }
  for (; shift > 0 && number.digits != 0; --shift) {
    if (!number.multiply(kTen)) {
      return kMost;
    }
  }
  for (; shift < 0 && number.digits > 1; ++shift) {
    number.digits = (number.digits + kTen - 1) / kTen;
  }
  return number.digits > static_cast<Wide>(kMost) ? kMost
                                                  : static_cast<std::int64_t>(number.digits);
}

/// What does not fit any more is too much, or too little to matter.
void append(Scaled& number, std::string_view digits, bool are_decimals) {
  for (const char c : digits) {
    const bool fits = number.multiply(10);
    number.digits += fits ? static_cast<unsigned>(c - '0') : 0U;
    number.decimals += (fits && are_decimals ? 1 : 0) - (!fits && !are_decimals ? 1 : 0);
  }
}

/// Takes digits, with at most one point among them, from the front of the text.
std::optional<Scaled> take_number(std::string_view& text) {
  text.remove_prefix(text.starts_with('+') ? 1 : 0);
  const std::string_view all = text.substr(0, text.find_first_not_of("0123456789."));
  text.remove_prefix(all.size());
  const std::size_t point = std::min(all.find('.'), all.size());
  const std::string_view decimals = all.substr(std::min(point + 1, all.size()));
  if (decimals.find('.') != std::string_view::npos || point + decimals.size() == 0) {
    return std::nullopt;
  }
  Scaled number;
  append(number, all.substr(0, point), false);
  append(number, decimals, true);
  return number;
}

}  // namespace

std::optional<std::int64_t> parse_quantity(std::string_view text) {
  const auto number = take_number(text);
  const auto suffix = number ? read_suffix(text) : std::nullopt;
  return suffix ? std::optional(in_thousandths(*number, *suffix)) : std::nullopt;
}

}  // namespace muster::render
