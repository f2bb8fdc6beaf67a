// Asks for the status only where NCCL has said that it can write JSON. It closes the connection after that answer.
#include "agent/hang/nccl_client.hpp"

#include "base/file_io.hpp"
#include "hang/nccl_version.hpp"
#include "process/helper_process.hpp"
#include "process/rights.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostAnswerBytes = std::size_t{16} << 20U;

/// NCCL waits for the other processes as long as TIMEOUT says; versions before 2.28.7 refuse SET FORMAT.
constexpr std::string_view kGreeting = "CLIENT PROTOCOL 2\nTIMEOUT 1\nSET FORMAT json\n";
constexpr std::ptrdiff_t kGreetingLines = 3;
constexpr std::string_view kQuestion = "VERBOSE STATUS\n";

bool wait_for(const UniqueFd& socket, short events, Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd polled{socket.get(), events, 0};
  return left > 0 && ::poll(&polled, 1, static_cast<int>(left)) == 1;
}

UniqueFd connect_to(std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  (void)::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);  // NOLINT: the socket API
  return socket;
}

bool send_all(const UniqueFd& socket, std::string_view text) {
  return ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

/// Reads until `most_lines` have come, or the other side closes the connection. Empty: it did not by the deadline, or
/// sent too much.
std::string read_lines(const UniqueFd& socket, std::ptrdiff_t most_lines, Clock::time_point deadline) {
  std::string answer;
  std::array<char, std::size_t{64} << 10U> part{};
  while (answer.size() <= kMostAnswerBytes && wait_for(socket, POLLIN, deadline)) {
    const ssize_t bytes = ::recv(socket.get(), part.data(), part.size(), 0);
    if (bytes <= 0) {
      return bytes == 0 ? answer : "";
    }
    answer.append(part.data(), static_cast<std::size_t>(bytes));
    most_lines -= std::count(part.begin(), part.begin() + bytes, '\n');
    if (most_lines <= 0) {
      return answer;
    }
  }
  return {};
}

/// True if all sockets that listen at the port are of these users: any of them may have got the connection.
bool is_listener_one_of(const std::set<uid_t>& users, std::uint16_t port) {
  std::ifstream table("/proc/net/tcp");
  const std::set<uid_t> found = users_listening_at(table, port);
  return !found.empty() && std::ranges::includes(users, found);
}

}  // namespace

std::set<uid_t> users_listening_at(std::istream& table, std::uint16_t port) {
  constexpr int kHexadecimal = 16;
  const std::set<std::string> addresses{"0100007F", "7F000001", "00000000"};  // in the order of the machine's bytes
  std::set<uid_t> found;
  std::string line;
  for (std::getline(table, line); std::getline(table, line);) {  // skips the headings
    std::istringstream words(line);
    std::string skipped;
    std::string local;
    std::string state;
    uid_t user = 0;
    words >> skipped >> local >> skipped >> state >> skipped >> skipped >> skipped >> user;
    if (!words || state != "0A") {
      break;  // sockets that listen come first
    }
    const std::size_t colon = std::min(local.find(':'), local.size() - 1);
    unsigned number = 0;
    (void)std::from_chars(local.data() + colon + 1, local.data() + local.size(), number, kHexadecimal);
    if (number == port && addresses.contains(local.substr(0, colon))) {
      found.insert(user);
    }
  }
  return found;
}

namespace {

/// The answer to VERBOSE STATUS; empty: none.
std::string ask_status(std::uint16_t port, const std::set<uid_t>& users, Clock::time_point deadline) {
  constexpr std::chrono::milliseconds kMostTimeToBegin{300};
  while (Clock::now() < deadline) {
    const UniqueFd socket = connect_to(port);
    if (!wait_for(socket, POLLOUT, deadline) || !is_listener_one_of(users, port) || !send_all(socket, kGreeting)) {
      return {};
    }
    if (wait_for(socket, POLLIN, std::min(deadline, Clock::now() + kMostTimeToBegin))) {
      const bool writes_json = read_lines(socket, kGreetingLines, deadline).ends_with("\nOK\nOK\n");
      return writes_json && send_all(socket, kQuestion)
                 ? read_lines(socket, std::numeric_limits<std::ptrdiff_t>::max(), deadline)
                 : "";
    }  // another process listens, too: connect again, and the kernel may choose the right one
  }
  return {};
}

std::vector<std::string> names_in(const std::string& folder) {
  constexpr std::size_t kMostNames = 20'000;
  std::vector<std::string> names;
  std::error_code failed;
  for (auto at = std::filesystem::directory_iterator(folder, failed);
       !failed && at != std::filesystem::directory_iterator() && names.size() < kMostNames; at.increment(failed)) {
    names.push_back(at->path().filename());
  }
  return names;
}

/// The version of NCCL that the process has loaded. Its files are read below its own root.
Result<std::optional<hang::NcclVersion>> version_in(pid_t process) {
  constexpr std::size_t kMostMapBytes = std::size_t{8} << 20U;
  const std::string folder = "/proc/" + std::to_string(process);
  const std::string library = hang::find_nccl(read_untrusted_file(folder + "/maps", kMostMapBytes));
  const std::string wheel = hang::wheel_folder(library);
  return hang::nccl_version(library, wheel.empty() ? std::vector<std::string>() : names_in(folder + "/root" + wheel));
}

/// The version of the first process that has one; empty: none has.
std::string version_of_first(const std::vector<pid_t>& processes) {
  for (const pid_t process : processes) {
    const auto version = read_as(process, version_in);
    if (version && *version) {
      return hang::to_string(**version);
    }
  }
  return "";
}

/// Found by a process of its own, since the files may make it wait.
std::optional<hang::NcclVersion> find_version(const std::vector<pid_t>& processes, Clock::time_point deadline) {
  auto found = HelperAnswer::start([&] { return version_of_first(processes); });
  return found ? hang::parse_nccl_version(found->take(deadline, {}).value_or("")) : std::nullopt;
}

std::set<uid_t> users_of(const std::vector<pid_t>& processes) {
  std::set<uid_t> users;
  for (const pid_t process : processes) {
    if (const auto rights = rights_of(process)) {
      users.insert(rights->users[Rights::Effective]);
    }
  }
  return users;
}

}  // namespace

NcclAnswer ask_nccl(const NcclQuestion& question, const std::vector<pid_t>& processes, Clock::time_point deadline) {
  if (question.port == 0) {
    return {"", "NCCL is not asked: muster has given its workers no NCCL_RAS_ADDR, as it does if --hang-ask has nccl"};
  }
  const auto version = find_version(processes, deadline);
  if (std::string why_not = hang::why_not_asked(version, question.is_confirmed); !why_not.empty()) {
    return {"", std::move(why_not)};
  }
  std::string told = ask_status(question.port, users_of(processes), deadline);
  const char* const end = told.empty() ? " was asked, and has not answered" : " was asked";
  return {std::move(told), hang::describe(version) + end};
}

}  // namespace muster
