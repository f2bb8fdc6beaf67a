#pragma once

// A file of golden cases, as text: its blocks, what one takes over from another, and the rewriting of
// what is expected. docs/contributing.md describes the format.

#include "base/result.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace muster::golden {

/// One case, as the file has it.
struct Block {
  std::string name;
  std::string parent;                 ///< the case above that it is like; empty: none
  std::vector<std::string> given;     ///< its own lines, without the indent
  std::vector<std::string> expected;  ///< lines that begin with '>' or '!'
};

/// The cases of a file, in its order. Fails for a line that is none of a case, and for a parent that does
/// not stand above: a typing error must not turn a test into one of something else.
[[nodiscard]] Result<std::vector<Block>> read_blocks(const std::filesystem::path& file);

/// The block of that name; there is one.
const Block& find_block(const std::vector<Block>& blocks, const std::string& name);

/// The input lines of the case and of its parents: its own lines replace those of the same name, and "without NAME"
/// removes one.
std::vector<std::string> all_given(const std::vector<Block>& blocks, const Block& block);

/// Writes what is expected of one case into the file and leaves the rest as it is.
void rewrite_expected(const std::filesystem::path& file, const std::string& name,
                      const std::vector<std::string>& expected);

}  // namespace muster::golden
