// Reads and writes the index of a pack.
#include "compile_cache/pack.hpp"

#include "base/format_text.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_set>

namespace muster::compile_cache {
namespace {

constexpr std::size_t kMostPathBytes = 1'024;
constexpr std::size_t kMostNameBytes = 255;
constexpr std::size_t kSha256Digits = 64;
constexpr std::size_t kSizeDigits = 16;
constexpr int kDecimal = 10;
constexpr int kOctal = 8;
constexpr int kHexadecimal = 16;
constexpr unsigned kMostMode = 0777;
constexpr std::string_view kTrailerMark = "index ";

/// Reads the whole text as a number: only digits of the base.
template <typename Number>
std::optional<Number> parse_number(std::string_view text, int base) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && !text.empty() ? std::optional(number) : std::nullopt;
}

bool is_sha256(std::string_view text) {
  return text.size() == kSha256Digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Error bad_pack(const std::string& why) {
  return Error{ErrorKind::BadData, why};
}

/// Takes the text up to the separator, which is dropped, from the front of `rest`. Empty: there is no separator.
std::optional<std::string_view> take_up_to(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return taken;
}

/// The value in a line "NAME VALUE" at the front of `rest`.
Result<std::string> take_field(std::string_view& rest, const std::string& name) {
  const auto line = take_up_to(rest, '\n');
  if (!line || !line->starts_with(name + " ")) {
    return bad_pack("its index has no '" + name + "'");
  }
  return std::string(line->substr(name.size() + 1));
}

Result<PackEntry> read_entry(std::string_view line) {
  const auto size = parse_number<std::uint64_t>(take_up_to(line, ' ').value_or(""), kDecimal);
  const auto mode = parse_number<unsigned>(take_up_to(line, ' ').value_or(""), kOctal);
  const auto mtime = parse_number<std::int64_t>(take_up_to(line, ' ').value_or(""), kDecimal);
  const std::string_view sha256 = take_up_to(line, ' ').value_or("");
  if (!size || !mode || *mode > kMostMode || !mtime || !is_sha256(sha256)) {
    return bad_pack("a line of its index is not one that muster writes");
  }
  if (*size > kMostEntryBytes) {
    return bad_pack("it has an entry of " + std::to_string(*size) + " bytes");
  }
  if (const std::string problem = problem_of_path(line); !problem.empty()) {
    return bad_pack("it has a path that " + problem);
  }
  return PackEntry{std::string(line), *size, *mode, *mtime, std::string(sha256)};
}

}  // namespace

std::string problem_of_path(std::string_view path) {
  if (path.empty() || path.size() > kMostPathBytes) {
    return path.empty() ? "is empty" : "has more than " + std::to_string(kMostPathBytes) + " bytes";
  }
  if (path.front() == '/') {
    return "is absolute";
  }
  if (std::ranges::any_of(path, is_control)) {
    return "has control characters";
  }
  while (true) {
    const std::string_view name = path.substr(0, path.find('/'));
    if (name.empty() || name == "." || name == "..") {
      return "has the part '" + std::string(name) + "'";
    }
    if (name.size() > kMostNameBytes) {
      return "has a name of more than " + std::to_string(kMostNameBytes) + " bytes";
    }
    if (name.size() == path.size()) {
      return {};
    }
    path.remove_prefix(name.size() + 1);
  }
}

std::string write_index(const PackIndex& index) {
  std::string text = "machine " + index.machine + "\nuser " + std::to_string(index.user) + "\nentries " +
                     std::to_string(index.entries.size()) + "\n";
  for (const PackEntry& entry : index.entries) {
    text += std::to_string(entry.size) + " " + format_text("%03o", entry.mode & kMostMode) + " " +
            std::to_string(entry.mtime) + " " + entry.sha256 + " " + entry.path + "\n";
  }
  return text;
}

std::string write_trailer(std::size_t index_bytes, std::string_view sha256) {
  return std::string(kTrailerMark) + format_text("%016zx", index_bytes) + " " + std::string(sha256) + "\n";
}

Result<Trailer> read_trailer(std::string_view text, std::uint64_t file_bytes) {
  const bool has_form = text.size() == kTrailerBytes && text.starts_with(kTrailerMark) && text.back() == '\n' &&
                        text[kTrailerMark.size() + kSizeDigits] == ' ';
  if (!has_form) {
    return bad_pack("it is not whole, or no pack");
  }
  const auto size = parse_number<std::uint64_t>(text.substr(kTrailerMark.size(), kSizeDigits), kHexadecimal);
  const std::string_view sha256 = text.substr(kTrailerMark.size() + kSizeDigits + 1, kSha256Digits);
  if (!size || !is_sha256(sha256)) {
    return bad_pack("it is not whole, or no pack");
  }
  if (*size > kMostIndexBytes || *size + kPackMark.size() + kTrailerBytes > file_bytes) {
    return bad_pack("its index has " + std::to_string(*size) + " bytes");
  }
  return Trailer{*size, std::string(sha256)};
}

Result<PackIndex> read_index(std::string_view text, std::uint64_t file_bytes) {
  if (text.size() > kMostIndexBytes || file_bytes > kMostPackBytes) {
    return bad_pack("it is too large");
  }
  std::string_view rest = text;
  PackIndex index;
  index.machine = TRY(take_field(rest, "machine"));
  const auto user = parse_number<std::uint64_t>(TRY(take_field(rest, "user")), kDecimal);
  const auto count = parse_number<std::uint64_t>(TRY(take_field(rest, "entries")), kDecimal);
  if (!user || !count || *count > kMostEntries) {
    return bad_pack("its index does not say how many entries it has, or more than " + std::to_string(kMostEntries));
  }
  index.user = *user;
  std::uint64_t offset = kPackMark.size();
  std::unordered_set<std::string> paths;
  while (const auto line = take_up_to(rest, '\n')) {
    PackEntry entry = TRY(read_entry(*line));
    if (!paths.insert(entry.path).second) {
      return bad_pack("it has a path twice");
    }
    entry.offset = offset;
    offset += entry.size;
    index.entries.push_back(std::move(entry));
    if (index.entries.size() > *count || offset > file_bytes) {
      return bad_pack("its index has more entries than the pack");
    }
  }
  if (!rest.empty() || index.entries.size() != *count || offset + text.size() + kTrailerBytes != file_bytes) {
    return bad_pack("its sizes do not add up");
  }
  return index;
}

}  // namespace muster::compile_cache
