// Reads the file of bad nodes, and replaces it as a whole, under a lock.
#include "preflight/bad_nodes.hpp"

#include "base/display_text.hpp"
#include "base/file_io.hpp"
#include "base/text.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>

namespace muster::preflight {
namespace {

constexpr std::size_t kMostFileBytes = std::size_t{1} << 20U;
/// Time until an entry ends: by then most broken machines are mended, or gone.
constexpr std::chrono::hours kKept{24 * 7};
constexpr std::string_view kHead =
    "# Nodes that failed by themselves, kept by muster (--bad-nodes): machine, end of the entry, time of the failure, "
    "reason\n";

/// "2026-12-06T07:50:41Z". Two of these are ordered as their texts.
bool is_time(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:ddZ";
  return std::ranges::equal(text, kForm,
                            [](char c, char form) { return form == 'd' ? c >= '0' && c <= '9' : c == form; });
}

std::string_view take_word(std::string_view& rest) {
  rest = trim(rest);
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
  rest.remove_prefix(word.size());
  return word;
}

bool is_remark(std::string_view line) {
  return trim(line).empty() || trim(line).starts_with('#');
}

/// Reads a line. An entry with a machine only has no end: it stays until somebody removes it. Empty: no entry.
std::optional<gang::BadNode> read_line(std::string_view line) {
  gang::BadNode node;
  node.machine = take_word(line);
  node.until = take_word(line);
  const std::string_view since = take_word(line);
  node.reason = trim(line);
  const bool is_whole = is_time(node.until) && (is_time(since) || since.empty());
  const bool is_alone = node.until.empty();
  return is_machine_name(node.machine) && (is_whole || is_alone) ? std::optional(node) : std::nullopt;
}

bool has_ended(const gang::BadNode& node, const std::string& now) {
  return !node.until.empty() && node.until <= now;
}

std::vector<std::string> lines_of(std::string_view text) {
  return split(text.substr(0, text.size() - (text.ends_with('\n') ? 1 : 0)), '\n');
}

/// Follows the links of this user. Fails for a link of another user where all users may write.
Result<std::string> place_of(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path place = follow_links(path, failed);
  if (failed) {
    return Error{ErrorKind::System,
                 "the list of bad nodes '" + path + "' is a link that is not followed: " + failed.message()};
  }
  return place.string();
}

/// The content of the file; empty if there is none.
Result<std::string> read_text(const std::string& place) {
  struct stat status {};
  if (::lstat(place.c_str(), &status) != 0 && errno == ENOENT) {
    return std::string();
  }
  struct stat folder {};
  const bool may_be_written_by_all = (status.st_mode & S_IWOTH) != 0;
  const bool is_of_stranger = ::stat(std::filesystem::path(place).parent_path().c_str(), &folder) == 0 &&
                              (folder.st_mode & S_IWOTH) != 0 && status.st_uid != 0 && status.st_uid != ::geteuid();
  if (may_be_written_by_all || is_of_stranger) {
    return Error{ErrorKind::System,
                 "cannot read the list of bad nodes '" + place + "': other users may have written it"};
  }
  const UniqueFd file = open_untrusted_file(place);
  ReadResult content = file ? read_up_to(file.get(), kMostFileBytes + 1) : ReadResult();
  if (!file || content.error_number != 0 || content.bytes.size() > kMostFileBytes) {
    return Error{ErrorKind::System,
                 "cannot read the list of bad nodes '" + place + "': it is no readable file of at most 1 MiB"};
  }
  return std::move(content.bytes);
}

/// Waits until no other job writes. The file of the lock stays: whoever waits for it has it open.
Result<UniqueFd> lock(const std::string& place) {
  constexpr mode_t kForAll = 0666;
  const std::string path = place + ".lock";
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, kForAll));
  if (!file) {  // another user's
    file = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  }
  if (!file || ::flock(file.get(), LOCK_EX) != 0) {
    return system_error("cannot lock the list of bad nodes by '" + path + "'", errno);
  }
  return file;
}

Result<> replace_file(const std::string& place, const std::string& text) {
  constexpr mode_t kReadByAll = 0644;
  constexpr mode_t kRights = 0777;
  struct stat old {};
  const bool is_there = ::lstat(place.c_str(), &old) == 0;
  return write_whole_file(place, text, is_there ? old.st_mode & kRights : kReadByAll, OnDisk::Now,
                          is_there ? &old : nullptr);
}

}  // namespace

bool is_machine_name(std::string_view name) {
  constexpr std::size_t kMostBytes = 253;
  return !name.empty() && name.size() <= kMostBytes && is_letter_or_digit(name.front()) &&
         std::ranges::all_of(name, [](char c) { return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_'; });
}

BadNodes parse_bad_nodes(std::string_view text, WallTime now) {
  BadNodes found;
  for (const std::string& line : lines_of(text)) {
    auto node = read_line(line);
    if (node && !has_ended(*node, utc_text(now))) {
      node->reason = visible_line(node->reason);
      found.nodes.push_back(std::move(*node));
    }
    found.unreadable += node || is_remark(line) ? 0 : 1;
  }
  return found;
}

std::string with_bad_node(std::string_view text, const gang::BadNode& node, WallTime now) {
  const auto is_kept_for_good = [&](std::string_view line) {
    const auto known = is_remark(line) ? std::nullopt : read_line(line);
    return known && known->machine == node.machine && known->until.empty();
  };
  if (std::ranges::any_of(lines_of(text), is_kept_for_good)) {
    return std::string(text);
  }
  std::string changed(text.empty() ? kHead : "");
  for (const std::string& line : lines_of(text)) {
    const auto known = is_remark(line) ? std::nullopt : read_line(line);
    if (!known || !(has_ended(*known, utc_text(now)) || known->machine == node.machine)) {
      changed.append(line).append("\n");
    }
  }
  return changed + node.machine + " " + utc_text(now + kKept) + " " + utc_text(now) + " " + visible_line(node.reason) +
         "\n";
}

Result<std::string> read_bad_nodes(const std::string& path) {
  return read_text(TRY(place_of(path)));
}

Result<> keep_bad_node(const std::string& path, const gang::BadNode& node, WallTime now) {
  if (!is_machine_name(node.machine)) {
    return Error{ErrorKind::System, "'" + visible_line(node.machine) + "' is no name for the list of bad nodes"};
  }
  const std::string place = TRY(place_of(path));
  const UniqueFd locked = TRY(lock(place));
  return replace_file(place, with_bad_node(TRY(read_text(place)), node, now));
}

}  // namespace muster::preflight
