#pragma once

#include <array>
#include <string>
#include <string_view>

namespace muster {

/// The path of this program, as a word that others can start it by while it runs: without blanks and colons.
[[nodiscard]] std::string program_path();

/// The python3 of the virtual environment (PEP 405) or conda environment whose folder of programs has the name by which we were
/// started; a name without a folder is looked for in `search_path`. Empty: it is in none.
[[nodiscard]] std::string find_own_python(std::string_view argv0, std::string_view search_path);

/// The folders where muster's modules for Python may be: of an installation, and of a build.
[[nodiscard]] std::array<std::string, 2> own_module_places();

/// The first of them that is there; empty: none.
[[nodiscard]] std::string find_own_modules();

}  // namespace muster
