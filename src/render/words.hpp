#pragma once

// Texts of the user's inside a YAML file, a shell script, a Dockerfile.

#include <string>
#include <string_view>

namespace muster::render {

/// True for text that YAML and JSON can hold: valid UTF-8.
[[nodiscard]] bool is_utf8(std::string_view text);

/// In double quotes, as every reader of YAML, old and new, takes it back byte for byte. It is a string of JSON, too.
[[nodiscard]] std::string quoted_text(std::string_view text);

/// The same for an argument of a container: Kubernetes would replace "$(NAME)", and takes "$$" for one "$".
[[nodiscard]] std::string quoted_argument(std::string_view text);

}  // namespace muster::render
