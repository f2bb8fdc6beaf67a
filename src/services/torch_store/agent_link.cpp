// Lines go out as far as the agent takes them: see the header.
#include "services/torch_store/agent_link.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace muster {
namespace {

constexpr int kMostRemarks = 16;

}  // namespace

AgentLink::AgentLink(Poller& poller, int agent, std::uint64_t number)
    : poller_(poller), agent_(agent), number_(number) {
  poller_.add(agent_, number_, EPOLLIN);
}

void AgentLink::send(const StoreMessage& line) {
  const bool is_first = unread_.empty();
  unread_ += write_line(line);
  if (is_first) {
    write();
  }
}

void AgentLink::remark(const std::string& text) {
  if (++remarks_ <= kMostRemarks) {
    send(StoreNotice{text + (remarks_ < kMostRemarks ? "" : " (the last time that it is said)")});
  }
}

std::string AgentLink::on_ready(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) {
    write();
  }
  std::array<char, 16> asked{};
  const ssize_t size = ::recv(agent_, asked.data(), asked.size(), MSG_DONTWAIT);
  is_over_ = size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR);
  return {asked.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

/// An error is found out by reading as well.
void AgentLink::write() {
  const ssize_t size = ::send(agent_, unread_.data(), unread_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  unread_.erase(0, static_cast<std::size_t>(size > 0 ? size : 0));
  poller_.change(agent_, number_, unread_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

}  // namespace muster
