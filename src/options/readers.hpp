#pragma once

// Reads the values of options strictly, and puts them into the members of requests.

#include "options/settings.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace muster {

/// Reads a given value into a request of one type.
struct OptionReader {
  const std::type_info* request = nullptr;
  Result<> (*read)(void* request, const Sourced<std::string>& given) = nullptr;
};

/// Marks an option that code elsewhere reads: its value cannot be read by itself, or belongs to no single member.
inline constexpr OptionReader kReadByCode{};

template <typename Request, typename Member>
Request class_of(Member Request::*member);
/// The class with this member.
template <auto kMember>
using ClassOf = decltype(class_of(kMember));

/// Puts the result of `kRead` into the member, with the value's source where the member has one.
template <auto kMember, auto kRead>
Result<> read_member(ClassOf<kMember>& request, const Sourced<std::string>& given) {
  auto value = TRY(kRead(given));
  auto& member = request.*kMember;
  if constexpr (std::is_assignable_v<decltype(member), decltype(value)>) {
    member = std::move(value);
  } else {
    member = {std::move(value), given.source};
  }
  return {};
}

/// `kInto<&GangOptions::timeout, read_seconds>` in an option's row: read_seconds reads the value into the member
/// `timeout`. The member keeps its value if the option is not given.
template <auto kMember, auto kRead>
inline constexpr OptionReader kInto{&typeid(ClassOf<kMember>), [](void* request, const Sourced<std::string>& given) {
                                      return read_member<kMember, kRead>(*static_cast<ClassOf<kMember>*>(request),
                                                                         given);
                                    }};

/// Appends each value of an option that may repeat to the member, a vector.
template <auto kMember, auto kRead>
inline constexpr OptionReader kAppend{&typeid(ClassOf<kMember>),
                                      [](void* request, const Sourced<std::string>& given) -> Result<> {
                                        auto value = TRY(kRead(given));
                                        (static_cast<ClassOf<kMember>*>(request)->*kMember).push_back(std::move(value));
                                        return {};
                                      }};

// Readers, each for one form of values.

/// A text as an argument of a template.
template <std::size_t kSize>
struct Literal {
  // NOLINTNEXTLINE(modernize-avoid-c-arrays, google-explicit-constructor): a string literal is a C array
  consteval Literal(const char (&literal)[kSize]) { std::copy_n(literal, kSize, text.begin()); }
  std::array<char, kSize> text{};
};

/// Any text.
[[nodiscard]] Result<std::string> read_text(const Sourced<std::string>& given);

/// A switch: false for "0", as a variable may have it.
[[nodiscard]] Result<bool> read_whether_on(const Sourced<std::string>& given);

/// A file name that is not empty; its existence is checked at use.
[[nodiscard]] Result<std::string> read_file_name(const Sourced<std::string>& given);

/// Seconds such as "0.5".
[[nodiscard]] Result<std::chrono::milliseconds> read_seconds(const Sourced<std::string>& given);
[[nodiscard]] Result<std::chrono::milliseconds> read_positive_seconds(const Sourced<std::string>& given);
[[nodiscard]] Result<std::chrono::milliseconds> read_seconds_within(const Sourced<std::string>& given, int least,
                                                                    int most);
template <int kLeast, int kMost>
Result<std::chrono::milliseconds> read_seconds_from(const Sourced<std::string>& given) {
  return read_seconds_within(given, kLeast, kMost);
}

/// A whole number from `least` to `most`; `expected` describes this range in errors.
[[nodiscard]] Result<int> read_integer(const Sourced<std::string>& given, int least, int most,
                                       std::string_view expected);

/// A whole number; `what` names it in the error.
[[nodiscard]] Result<int> read_number_within(const Sourced<std::string>& given, int least, int most,
                                             std::string_view what);
template <int kLeast, int kMost, Literal kWhat>
Result<int> read_number(const Sourced<std::string>& given) {
  return read_number_within(given, kLeast, kMost, kWhat.text.data());
}

/// The position of a word in a list such as "auto, always or never".
[[nodiscard]] Result<std::size_t> find_word(const Sourced<std::string>& given, std::string_view words);

/// Reads one of several words and returns its value: read_word<"wait or fail", OnEarlyExit::Wait, OnEarlyExit::Fail>
/// reads "fail" as OnEarlyExit::Fail.
template <Literal kWords, auto... kValues>
Result<std::common_type_t<decltype(kValues)...>> read_word(const Sourced<std::string>& given) {
  constexpr std::array kAll = {kValues...};
  return kAll.at(TRY(find_word(given, kWords.text.data())));
}

}  // namespace muster
