// Reads and rewrites files of golden cases, line by line.
#include "case_file.hpp"

#include <algorithm>
#include <fstream>

namespace muster::golden {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndent = "  ";
constexpr std::string_view kLike = " like ";
constexpr std::string_view kWithout = "without ";
constexpr std::string_view kFull = "full";

std::vector<std::string> lines_of(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

bool is_indented(const std::string& line) {
  return line.starts_with(kIndent);
}

bool is_header(const std::string& line) {
  return !line.empty() && !is_indented(line) && !line.starts_with('#');
}

bool is_expected(const std::string& line) {
  return line.starts_with("  > ") || line.starts_with("  ! ");
}

bool has_block(const std::vector<Block>& blocks, const std::string& name) {
  return std::any_of(blocks.begin(), blocks.end(), [&](const Block& block) { return block.name == name; });
}

Block begin_block(const std::string& header) {
  Block block;
  const std::size_t like = header.find(kLike);
  block.name = header.substr(0, like);
  block.parent = like == std::string::npos ? "" : header.substr(like + kLike.size());
  return block;
}

/// The subject of a line of a case: a variable, an option, "@", "$" or "devices:".
std::string subject_of(const std::string& line) {
  if (line.starts_with('@') || line.starts_with('$')) {
    return line.substr(0, 1);
  }
  return line.substr(0, line.find_first_of("=+ "));
}

void remove_subject(std::vector<std::string>& lines, const std::string& subject) {
  std::erase_if(lines, [&](const std::string& line) { return subject_of(line) == subject; });
}

}  // namespace

Result<std::vector<Block>> read_blocks(const fs::path& file) {
  std::vector<Block> blocks;
  int number = 0;
  for (const std::string& line : lines_of(file)) {
    ++number;
    const auto wrong = [&](const std::string& what) {
      return Error{ErrorKind::BadData, file.string() + ":" + std::to_string(number) + ": '" + line + "' " + what};
    };
    if (line.empty() || line.starts_with('#')) {
      continue;
    }
    if (is_header(line)) {
      Block block = begin_block(line);
      const bool is_name = block.name.find_first_of(" =:") == std::string::npos;
      if (!is_name || has_block(blocks, block.name)) {
        return wrong("is no name of a case, or of one that is above");
      }
      if (!block.parent.empty() && !has_block(blocks, block.parent)) {
        return wrong("is like a case that is not above");
      }
      blocks.push_back(std::move(block));
    } else if (blocks.empty()) {
      return wrong("belongs to no case");
    } else if (is_expected(line)) {
      blocks.back().expected.push_back(line.substr(kIndent.size()));
    } else {
      blocks.back().given.push_back(line.substr(kIndent.size()));
    }
  }
  return blocks;
}

const Block& find_block(const std::vector<Block>& blocks, const std::string& name) {
  return *std::find_if(blocks.begin(), blocks.end(), [&](const Block& block) { return block.name == name; });
}

// NOLINTNEXTLINE(misc-no-recursion): a parent stands above, so this ends
std::vector<std::string> all_given(const std::vector<Block>& blocks, const Block& block) {
  if (block.parent.empty()) {
    return block.given;
  }
  std::vector<std::string> lines = all_given(blocks, find_block(blocks, block.parent));
  remove_subject(lines, std::string(kFull));
  for (const std::string& line : block.given) {
    const bool is_less = line.starts_with(kWithout);
    remove_subject(lines, is_less ? line.substr(kWithout.size()) : subject_of(line));
  }
  std::copy_if(block.given.begin(), block.given.end(), std::back_inserter(lines),
               [](const std::string& line) { return !line.starts_with(kWithout); });
  return lines;
}

void rewrite_expected(const fs::path& file, const std::string& name, const std::vector<std::string>& expected) {
  std::vector<std::string> lines = lines_of(file);
  const auto header = std::find_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return is_header(line) && begin_block(line).name == name;
  });
  const auto end = std::find_if_not(header + 1, lines.end(), is_indented);
  const auto given_end = std::remove_if(header + 1, end, is_expected);
  std::vector<std::string> fresh(lines.begin(), given_end);
  for (const std::string& line : expected) {
    fresh.push_back(std::string(kIndent) + line);
  }
  fresh.insert(fresh.end(), end, lines.end());
  std::ofstream out(file);
  for (const std::string& line : fresh) {
    out << line << '\n';
  }
}

}  // namespace muster::golden
