// Who has a port: from /proc/net/tcp to a socket's number, and from there to a process.
#include "base/text.hpp"
#include "gang/net/listener.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace muster::gang {
namespace {

namespace fs = std::filesystem;

/// One line of /proc/net/tcp: "0: 0100007F:1F90 00000000:0000 0A ... inode".
struct Line {
  unsigned port = 0;
  bool is_listening = false;
  std::string inode;
};

std::optional<Line> parse(const std::string& text) {
  std::istringstream words(text);
  std::string number;
  std::string local;
  std::string remote;
  std::string state;
  std::string skipped;
  Line line;
  words >> number >> local >> remote >> state;
  for (int i = 0; i < 5; ++i) {  // queues, timer, retransmissions, user, time-out
    words >> skipped;
  }
  words >> line.inode;
  const std::size_t colon = local.find(':');
  if (!words || colon == std::string::npos) {
    return std::nullopt;
  }
  constexpr int kHexadecimal = 16;
  const char* const end = local.data() + local.size();
  if (std::from_chars(local.data() + colon + 1, end, line.port, kHexadecimal).ptr != end) {
    return std::nullopt;
  }
  line.is_listening = state == "0A";
  return line;
}

/// Of the socket that has the port and listens, or does not; empty: none. Those that listen stand first in a table,
/// before the connections, of which a busy machine has more than can be read in a moment.
std::string find_inode(const char* table, std::uint16_t port, bool listens) {
  std::ifstream file(table);
  for (std::string text; std::getline(file, text);) {
    const std::optional<Line> line = parse(text);
    if (!line) {
      continue;  // the heading
    }
    if (listens && !line->is_listening) {
      break;
    }
    if (line->port == port && line->is_listening == listens && line->inode != "0") {
      return line->inode;  // 0: no process has it any more
    }
  }
  return {};
}

/// The number of the socket that has the port, one that listens before any other; empty: none.
std::string find_inode(std::uint16_t port) {
  constexpr std::array kTables{"/proc/net/tcp", "/proc/net/tcp6"};
  std::string inode;
  for (const bool listens : {true, false}) {
    for (auto table = kTables.begin(); inode.empty() && table != kTables.end(); ++table) {
      inode = find_inode(*table, port, listens);
    }
  }
  return inode;
}

bool has_socket(const fs::path& process, const std::string& target) {
  std::error_code error;  // another user's process, or one that has just ended
  for (fs::directory_iterator at(process / "fd", error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    if (fs::read_symlink(at->path(), gone) == target) {
      return true;
    }
  }
  return false;
}

std::string describe(const fs::path& process) {
  std::string name;
  std::ifstream file(process / "comm");
  std::getline(file, name);
  const std::string pid = "pid " + process.filename().string();
  return name.empty() ? pid : pid + " (" + valid_utf8(name) + ")";
}

bool is_process(const fs::path& path) {
  const std::string name = path.filename().string();
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string describe_port_holder(std::uint16_t port) {
  const std::string inode = find_inode(port);
  if (inode.empty()) {
    return {};
  }
  const std::string target = "socket:[" + inode + "]";
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    if (is_process(at->path()) && has_socket(at->path(), target)) {
      return describe(at->path());
    }
  }
  return {};
}

}  // namespace muster::gang
