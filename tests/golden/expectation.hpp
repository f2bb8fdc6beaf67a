#pragma once

// Expectations of a golden case, as lines that a reviewer reads: the decisions, and those values of the processes
// that their mode does not imply.

#include "case.hpp"

#include <string>
#include <vector>

namespace muster::golden {

/// "> FIELD: VALUE (SOURCE)" for each decision, "> ROLE.FIELD: VALUE | VALUE" for the processes of a
/// role, or "! CODE MESSAGE".
std::vector<std::string> expectation_of(const Case& given);

/// The lines of a case without those that the case has that it is like; "> no FIELD" for what it lacks.
std::vector<std::string> without_those_of(const std::vector<std::string>& parent,
                                          const std::vector<std::string>& lines);

}  // namespace muster::golden
