// One epoll set: see the header.
#include "services/torch_store/poller.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>

namespace muster {
namespace {

void control(int epoll, int operation, int fd, epoll_event event) {
  if (::epoll_ctl(epoll, operation, fd, &event) == 0) {
    return;
  }
  if (errno == ENOMEM || errno == ENOSPC) {
    throw std::bad_alloc();
  }
  throw std::system_error(errno, std::generic_category(), "cannot wait for a connection");
}

}  // namespace

Poller::Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) {
    throw std::system_error(errno, std::generic_category(), "cannot wait for connections");
  }
}

void Poller::add(int fd, std::uint64_t number, std::uint32_t events) {
  control(epoll_.get(), EPOLL_CTL_ADD, fd, {events, {.u64 = number}});
}

void Poller::change(int fd, std::uint64_t number, std::uint32_t events) {
  control(epoll_.get(), EPOLL_CTL_MOD, fd, {events, {.u64 = number}});
}

void Poller::remove(int fd) {
  control(epoll_.get(), EPOLL_CTL_DEL, fd, {});
}

std::span<const epoll_event> Poller::ready(std::optional<std::chrono::milliseconds> time,
                                           std::size_t most) {
  ready_.resize(most);
  const int count = ::epoll_wait(epoll_.get(),
                                 ready_.data(),
                                 static_cast<int>(ready_.size()),
                                 time ? static_cast<int>(time->count()) : -1);
  if (count < 0 && errno != EINTR) {
    throw std::system_error(errno, std::generic_category(), "cannot wait for connections");
  }
  return {ready_.data(), static_cast<std::size_t>(std::max(count, 0))};
}

}  // namespace muster
