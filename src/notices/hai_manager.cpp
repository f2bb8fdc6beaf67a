// One request to a connection. All of it blocks, and is done in a process that is killed when its time is over.
#include "notices/hai_manager.hpp"

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "environment/name_lookup.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

namespace muster {
namespace {

constexpr const char* kPort = "7000";
constexpr std::size_t kLengthBytes = 8;
constexpr int kMostAnswerBytes = 1 << 20;

/// Where no process can be made for it.
constexpr timeval kPatience{1, 0};

/// As protocol 2 of Python's pickle has a text of up to 255 bytes.
std::string pickled(std::string_view text) {
  return std::string("X") + static_cast<char>(text.size()) + std::string(3, '\0') +
         std::string(text);
}

std::string reason() {
  return std::generic_category().message(errno);
}

/// To the first address that takes it; empty: none does, and errno says why the last one did not.
UniqueFd connect_to(const addrinfo* address) {
  for (; address != nullptr; address = address->ai_next) {
    UniqueFd made(::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!made) {
      continue;
    }
    (void)::setsockopt(made.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
    (void)::setsockopt(made.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
    if (::connect(made.get(), address->ai_addr, address->ai_addrlen) == 0) {
      return made;
    }
  }
  return UniqueFd();
}

/// Fewer bytes where the answer ends or does not come.
std::string receive(int fd, std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t at = 0;
  while (at < count) {
    const ssize_t got = ::recv(fd, bytes.data() + at, count - at, 0);
    if (got <= 0) {
      break;
    }
    at += static_cast<std::size_t>(got);
  }
  bytes.resize(at);
  return bytes;
}

std::string exchange(int fd, const std::string& request) {
  // A request is shorter than any socket's buffer.
  if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    return "it does not take the request: " + reason();
  }
  const std::string length = receive(fd, kLengthBytes);
  if (length.size() < kLengthBytes) {
    return "it does not answer";
  }
  return parse_integer(trim(length), kLengthBytes, kMostAnswerBytes)
             ? std::string()
             : "its answer has no length that can be";
}

}  // namespace

std::string write_hai_request(std::string_view source) {
  constexpr std::string_view kSource = "source";
  const std::string pickle = "\x80\x02}" + pickled(kSource) + pickled(source) + "s.";
  std::array<char, kLengthBytes + 1> length{};
  (void)std::snprintf(length.data(), length.size(), "%8zu", kLengthBytes + pickle.size());
  return length.data() + pickle;
}

std::string notify_hai_manager(const std::string& host, std::string_view source) {
  choose_name_services();
  bound_lookup();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), kPort, &hints, &found); error != 0) {
    return std::string("'") + host + "': " + ::gai_strerror(error);
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  const UniqueFd manager = connect_to(addresses.get());
  if (!manager) {
    return "'" + host + "': " + reason();
  }
  return exchange(manager.get(), write_hai_request(source));
}

std::string describe_telling(const std::optional<std::string>& problem) {
  if (!problem) {
    return "no answer in time";
  }
  return problem->empty() ? "done" : *problem;
}

}  // namespace muster
