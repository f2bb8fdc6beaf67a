#pragma once

// The parts of a template that say what a mode needs beside its processes. Private to mode/.

#include "modes/template_fields.hpp"

namespace muster {

/// A role's own program: texts, or the program of the command line in one place of it.
[[nodiscard]] Result<std::vector<std::string>> read_program(const json::value& value,
                                                            const std::string& path,
                                                            const Place& place);

/// Reads the services and the inputs. A mode that uses {worker_port} needs that service, also when it
/// does not name it.
[[nodiscard]] Result<> read_needs(ModeTemplate& mode, const json::object& root, const Place& place);

}  // namespace muster
