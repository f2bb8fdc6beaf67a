#pragma once

#include <functional>
#include <optional>
#include <string>

namespace muster {

/// The text of the file at a path; empty: it cannot be read. Who decides by what files say is given this, and opens none.
using ReadText = std::function<std::optional<std::string>(const std::string& path)>;

}  // namespace muster
