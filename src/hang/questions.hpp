#pragma once

// Names the questions about the ranks of a job, and counts them (docs/hangs.md#what-is-asked). Pure.

#include "base/result.hpp"
#include "run/hang_options.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace muster::hang {

/// The names in --hang-ask, in the order of `Question`.
inline constexpr auto kQuestionNames = std::to_array<std::string_view>({"stacks", "py-spy", "recorder", "nccl"});

/// The number of times that each question was asked, by `Question`.
using AskedCounts = std::array<std::uint64_t, kQuestionNames.size()>;

/// {"stacks": 12, ...}
std::map<std::string, std::uint64_t> by_name(const AskedCounts& counts);

/// The name of the question in --hang-ask.
std::string_view name_of(Question question);

/// Reads "stacks,recorder", or "none".
[[nodiscard]] Result<std::set<Question>> read_questions(const Sourced<std::string>& given);

}  // namespace muster::hang
