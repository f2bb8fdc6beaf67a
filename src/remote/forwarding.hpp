#pragma once

// Which variables go along to other hosts. A remote shell takes none by itself.

#include "base/result.hpp"
#include "base/source.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Those that always do, unless the user says "none": names, and beginnings that end with '*'.
[[nodiscard]] std::span<const std::string_view> usual_variables();

/// Names of variables, read from --forward-env: "NAME,NAME*", with "none" in front instead of the
/// usual ones. Fails for what is no name.
[[nodiscard]] Result<std::vector<std::string>> read_forwarding(
    const std::optional<Sourced<std::string>>& given);

/// The variables that these names mean. muster's own are none of them: what they say is in the order.
[[nodiscard]] std::map<std::string, std::string> choose_variables(
    const std::map<std::string, std::string>& variables, const std::vector<std::string>& names);

}  // namespace muster
