#pragma once

// Programs that start the processes of a job: other launchers. Private to program/.

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace muster {

/// The command line for muster that means the same. `name` is a program's or a Python module's, `arguments`
/// is what stands behind it. Empty: it is no launcher that is known.
[[nodiscard]] std::optional<std::string> line_instead_of(std::string_view name,
                                                         std::span<const std::string> arguments);

/// Words as a shell takes them.
[[nodiscard]] std::string as_command_line(std::span<const std::string> words);

/// "python3", "/usr/bin/python3.11".
[[nodiscard]] bool is_python(std::string_view word);

/// What stands behind the last slash.
[[nodiscard]] std::string_view base_name(std::string_view path);

}  // namespace muster
