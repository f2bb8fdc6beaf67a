// Takes one partner after the other, and sends and receives as fast as the link allows. The kernel tells the round
// trip and the packets that it has sent again: both hold on a node that is short of CPUs, too.
#include "preflight/measure_links.hpp"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace muster::preflight {
namespace {

using gang::LinkResult;
using LinkClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Length of a slice. The best slice counts: on a busy node the others may have waited for a CPU.
constexpr milliseconds kSliceTime{50};
constexpr std::size_t kSlices = kLinkTransferTime / kSliceTime + 1;
constexpr std::size_t kTransferBytes = std::size_t{256} << 10U;

/// Bytes received, by the slices of time since the first one.
struct Received {
  std::optional<LinkClock::time_point> first{};
  std::array<std::size_t, kSlices> slices{};

  /// A transfer ends so long after the first bytes.
  LinkClock::time_point end(LinkClock::time_point most) const {
    return first ? std::min(most, *first + kLinkTransferTime) : most;
  }

  /// Counts received bytes; not the first ones, which may have waited in this node.
  void add(ssize_t bytes) {
    const auto now = LinkClock::now();
    if (!first) {
      first = bytes > 0 ? std::optional(now) : std::nullopt;
      return;
    }
    slices[std::min(kSlices - 1, static_cast<std::size_t>((now - *first) / kSliceTime))] +=
        static_cast<std::size_t>(bytes);
  }
};

int bounded(std::uint64_t number, int most) {
  return static_cast<int>(std::min<std::uint64_t>(number, static_cast<std::uint64_t>(most)));
}

LinkResult result_of(int socket, const Received& received) {
  constexpr std::uint64_t kBitsPerByte = 8;
  constexpr std::uint64_t kFewestPackets = 300;  // of fewer, a single one sent twice is no sign of a loss
  tcp_info info{};
  socklen_t size = sizeof info;
  (void)::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size);  // then latency and loss are not known
  const bool has_latency = info.tcpi_min_rtt != std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t sent = std::max<std::uint64_t>(info.tcpi_data_segs_out, kFewestPackets);
  return {has_latency ? bounded(info.tcpi_min_rtt, gang::kMostLinkLatency) : 0,
          bounded(*std::ranges::max_element(received.slices) * kBitsPerByte / kSliceTime.count(),  // bits in a ms
                  std::numeric_limits<int>::max()),
          bounded(std::uint64_t{info.tcpi_total_retrans} * gang::kMostLinkLoss / sent, gang::kMostLinkLoss)};
}

/// False: the partner has ended first.
bool receive_some(int socket, std::vector<char>& buffer, Received& received) {
  const ssize_t count = ::recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
  const bool goes_on = count > 0 || (count < 0 && errno == EAGAIN);
  received.add(std::max<ssize_t>(count, 0));
  return goes_on;
}

/// Sends and receives until the time of a transfer has passed since the partner's first byte. Empty: none has come.
std::optional<LinkResult> transfer(int socket, LinkClock::time_point most, std::vector<char>& buffer) {
  Received received;
  while (const int left = time_left(received.end(most))) {
    pollfd ready{socket, POLLIN | POLLOUT, 0};
    if (::poll(&ready, 1, left) <= 0) {
      continue;
    }
    if ((ready.revents & (POLLIN | POLLERR | POLLHUP)) != 0 && !receive_some(socket, buffer, received)) {
      break;
    }
    if ((ready.revents & POLLOUT) != 0) {
      static const std::vector<char> zeros(kTransferBytes);  // no partner chooses what this node sends
      (void)::send(socket, zeros.data(), zeros.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
  }
  return received.first ? std::optional(result_of(socket, received)) : std::nullopt;
}

/// Drops what is still to be sent: on a slow link it would be a load for the next round.
void reset_connection(UniqueFd socket) {
  const linger at_once{1, 0};
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

}  // namespace

gang::LinkResults measure_links(int listener, const std::string& key, const gang::LinkPlan& plan,
                                LinkClock::time_point begin) {
  LinkMeeting meeting(listener, key, plan, begin);
  std::vector<char> buffer(kTransferBytes);
  gang::LinkResults results{plan.check, {}};
  for (std::size_t round = 0; round < plan.steps.size(); ++round) {
    const auto start = begin + (static_cast<int>(round) + 1) * gang::kLinkRoundTime;  // one time for the first meetings
    const auto end = start + gang::kLinkRoundTime;
    meeting.run_until(start);
    UniqueFd partner = meeting.meet(round, end);
    auto result = partner ? transfer(partner.get(), end, buffer) : std::nullopt;
    if (partner) {
      reset_connection(std::move(partner));
    } else if (meeting.is_silent(round)) {
      result = LinkResult{.is_silent = true};
    }
    results.rounds.push_back(result);
  }
  return results;
}

}  // namespace muster::preflight
