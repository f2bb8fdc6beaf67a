// Sends all lines of the request at once: NCCL answers them one by one, and closes the connection after the last.
#include "agent/nccl_client.hpp"

#include "base/file_io.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
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

}  // namespace

std::string ask_nccl(const NcclQuestion& question, Clock::time_point deadline) {
  constexpr std::chrono::milliseconds kMostTimeToBegin{300};
  const std::string asked = request(question.world_size);
  while (question.port != 0 && Clock::now() < deadline) {
    const UniqueFd socket = connect_to(question.port);
    if (!wait_for(socket, POLLOUT, deadline) ||
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
