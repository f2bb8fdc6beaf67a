#pragma once

// Names what may be asked about the ranks of a job beside the kernel (docs/hangs.md#what-is-asked). Pure.

#include "base/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace muster::hang {

enum class Question {
  Stacks,    ///< the memory of the ranks' Pythons
  PySpy,     ///< a program that reads the memory of others
  Recorder,  ///< PyTorch's flight recorder
  Nccl       ///< the RAS threads of NCCL; asked if a person wishes it, too
};

inline constexpr std::size_t kQuestions = 4;

/// The times that each was asked, by its number.
using AskedCounts = std::array<std::uint64_t, kQuestions>;

/// {"stacks": 12, ...}
[[nodiscard]] std::map<std::string, std::uint64_t> by_name(const AskedCounts& counts);

/// As in --hang-ask.
[[nodiscard]] std::string_view name_of(Question question);

/// Those that are allowed where nobody says more.
[[nodiscard]] std::set<Question> usual_questions();

/// Reads "stacks,recorder", or "none".
[[nodiscard]] Result<std::set<Question>> read_questions(const Sourced<std::string>& given);

}  // namespace muster::hang
