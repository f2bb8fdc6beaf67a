// Sends all lines of the request at once: NCCL answers them one by one, and closes the connection after the last.
#include "agent/nccl_client.hpp"

#include "base/file_io.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string_view>

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

/// In JSON a rank of a communicator takes about 700 bytes; of a larger job the text is asked for.
constexpr int kMostRanksForJson = 1'024;
constexpr std::size_t kMostAnswerBytes = std::size_t{16} << 20U;

/// NCCL waits for the other processes as long as TIMEOUT says; versions before 2.28.7 refuse SET FORMAT and write text.
std::string request(int world_size) {
  return std::string("CLIENT PROTOCOL 2\nTIMEOUT 1\n") + (world_size > kMostRanksForJson ? "" : "SET FORMAT json\n") +
         "VERBOSE STATUS\n";
}

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

/// Empty: the other side did not close the connection by the deadline, or sent too much.
std::string read_all(const UniqueFd& socket, Clock::time_point deadline) {
  std::string answer;
  std::array<char, std::size_t{64} << 10U> part{};
  while (answer.size() <= kMostAnswerBytes && wait_for(socket, POLLIN, deadline)) {
    const ssize_t bytes = ::recv(socket.get(), part.data(), part.size(), 0);
    if (bytes <= 0) {
      return bytes == 0 ? answer : "";
    }
    answer.append(part.data(), static_cast<std::size_t>(bytes));
  }
  return {};
}

/// True if only these users listen, of whom a connection has got one.
bool is_listener_one_of(const std::set<uid_t>& users, std::uint16_t port) {
  std::ifstream table("/proc/net/tcp");
  const std::set<uid_t> found = listeners_at(table, port);
  return !found.empty() && std::ranges::includes(users, found);
}

}  // namespace

std::set<uid_t> listeners_at(std::istream& table, std::uint16_t port) {
  constexpr int kHexadecimal = 16;
  const std::set<std::string> addresses{"0100007F", "7F000001", "00000000"};  // in the order of the machine's bytes
  std::set<uid_t> found;
  std::string line;
  for (std::getline(table, line); std::getline(table, line);) {  // the first has names
    std::istringstream words(line);
    std::string skipped;
    std::string local;
    std::string state;
    uid_t user = 0;
    words >> skipped >> local >> skipped >> state >> skipped >> skipped >> skipped >> user;
    if (!words || state != "0A") {
      break;  // those that listen come first
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

std::string ask_nccl(const NcclQuestion& question, const std::set<uid_t>& users, Clock::time_point deadline) {
  constexpr std::chrono::milliseconds kMostTimeToBegin{300};
  const std::string asked = request(question.world_size);
  while (question.port != 0 && Clock::now() < deadline) {
    const UniqueFd socket = connect_to(question.port);
    if (!wait_for(socket, POLLOUT, deadline) || !is_listener_one_of(users, question.port) ||
        ::send(socket.get(), asked.data(), asked.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(asked.size())) {
      return {};
    }
    if (wait_for(socket, POLLIN, std::min(deadline, Clock::now() + kMostTimeToBegin))) {
      return read_all(socket, deadline);
    }  // else another process may listen, and the kernel chooses one of them anew
  }
  return {};
}

}  // namespace muster
