// Reserved ports: nobody else gets them, and a worker can listen on them. Real sockets and processes.
#include "process/worker_port.hpp"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace muster {
namespace {

sockaddr_in6 any_six(std::uint16_t port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  return address;
}

sockaddr_in any_four(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  return address;
}

enum class Reuse {
  No,
  Address,
  AddressAndPort  // as gRPC does
};

/// A socket that listens on the port as a server of another program would; empty: errno says why.
UniqueFd listen_on(std::uint16_t port, int family, Reuse reuse) {
  UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = reuse != Reuse::No ? 1 : 0;
  const int on_port = reuse == Reuse::AddressAndPort ? 1 : 0;
  const sockaddr_in6 six = any_six(port);
  const sockaddr_in four = any_four(port);
  const bool is_six = family == AF_INET6;
  const auto* const address = is_six ? reinterpret_cast<const sockaddr*>(&six)    // NOLINT: its API
                                     : reinterpret_cast<const sockaddr*>(&four);  // NOLINT
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEPORT, &on_port, sizeof on_port) != 0 ||
      ::bind(socket.get(), address, is_six ? sizeof six : sizeof four) != 0 || ::listen(socket.get(), 1) != 0) {
    return {};
  }
  return socket;
}

bool has_version_six() {
  return static_cast<bool>(UniqueFd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)));
}

/// Another process that does this and ends with 0 if it was true.
template <typename Do>
bool is_true_in_another_process(const Do& what) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(what() ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ReservedPorts, HaveTheRequestedCountAndRange) {
  const auto ports = WorkerPort::reserve_several(20);
  ASSERT_TRUE(ports) << ports.error().message;
  std::set<std::uint16_t> numbers;
  for (const WorkerPort& port : *ports) {
    EXPECT_GE(port.number(), 5'000);
    EXPECT_LE(port.number(), 10'000);
    numbers.insert(port.number());
  }
  EXPECT_EQ(numbers.size(), 20U);
}

TEST(ReservedPorts, AreNoneWhereNoneAreNeeded) {
  const auto ports = WorkerPort::reserve_several(0);
  ASSERT_TRUE(ports);
  EXPECT_TRUE(ports->empty());
}

TEST(ReservedPorts, LetAWorkerListenBesideThem) {
  const auto ports = WorkerPort::reserve_several(1);
  ASSERT_TRUE(ports);
  const std::uint16_t port = ports->front().number();
  for (const Reuse reuse : {Reuse::Address, Reuse::AddressAndPort}) {
    for (const int family : {AF_INET, AF_INET6}) {
      EXPECT_TRUE(is_true_in_another_process([&] {
        return (family == AF_INET6 && !has_version_six()) || static_cast<bool>(listen_on(port, family, reuse));
      })) << "family "
          << family;
    }
  }
}

/// A parameter server that was killed, and its successor in the next attempt.
TEST(ReservedPorts, LetOneWorkerListenAfterAnother) {
  const auto ports = WorkerPort::reserve_several(1);
  ASSERT_TRUE(ports);
  for (int attempt = 0; attempt < 3; ++attempt) {
    const UniqueFd server = listen_on(ports->front().number(), AF_INET, Reuse::Address);
    ASSERT_TRUE(server) << "attempt " << attempt;
    const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = any_four(ports->front().number());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(client.get(),
                        reinterpret_cast<const sockaddr*>(&address),  // NOLINT
                        sizeof address),
              0);
    const UniqueFd accepted(::accept4(server.get(), nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_TRUE(accepted);
  }
}

TEST(ReservedPorts, AreTakenForEverybodyElse) {
  const auto ports = WorkerPort::reserve_several(1);
  ASSERT_TRUE(ports);
  EXPECT_FALSE(listen_on(ports->front().number(), AF_INET, Reuse::No));
  EXPECT_EQ(errno, EADDRINUSE);
}

/// All of the range but what others have: so it is sure that those were met and left out.
TEST(ReservedPorts, SkipPortsInUse) {
  const auto first = WorkerPort::reserve_several(1);
  ASSERT_TRUE(first);
  std::uint16_t of_four = first->front().number();
  UniqueFd four;
  for (int tries = 0; !four && tries < 100; ++tries) {
    of_four = of_four == WorkerPort::kMost ? WorkerPort::kLeast : of_four + 1;
    four = listen_on(of_four, AF_INET, Reuse::Address);
  }
  ASSERT_TRUE(four);

  for (int count = 5'001; count > 4'000; --count) {
    const auto rest = WorkerPort::reserve_several(count);
    if (!rest) {
      continue;  // other programs have some, too
    }
    for (const WorkerPort& port : *rest) {
      EXPECT_NE(port.number(), of_four);
      EXPECT_NE(port.number(), first->front().number());
    }
    return;
  }
  FAIL() << "not even 4000 ports are free";
}

TEST(ReservedPorts, SayHowManyAreFreeWhereTheyAreTooFew) {
  const auto ports = WorkerPort::reserve_several(5'002);
  ASSERT_FALSE(ports);
  EXPECT_EQ(ports.error().kind, ErrorKind::System);
  EXPECT_EQ(ports.error().message.substr(0, 57),
            "cannot reserve 5002 ports for the workers: only " + ports.error().message.substr(48, 9));
  EXPECT_NE(ports.error().message.find(" from 5000 to 10000 are free"), std::string::npos);
}

/// Fifty agents on one machine, all at once; each keeps its ports until all have theirs.
TEST(ReservedPorts, AreDifferentForAgentsThatReserveAtTheSameTime) {
  constexpr int kAgents = 50;
  constexpr std::size_t kPorts = 8;
  std::array<int, 2> numbers{};
  std::array<int, 2> gate{};
  ASSERT_EQ(::pipe(numbers.data()), 0);
  ASSERT_EQ(::pipe(gate.data()), 0);
  std::array<pid_t, kAgents> agents{};
  for (pid_t& agent : agents) {
    agent = ::fork();
    if (agent == 0) {
      ::close(gate[1]);
      const auto ports = WorkerPort::reserve_several(kPorts);
      std::array<std::uint16_t, kPorts> told{};
      for (std::size_t i = 0; ports && i < kPorts; ++i) {
        told.at(i) = (*ports)[i].number();
      }
      char none = 0;  // the gate opens when the test has read everything
      const bool is_told = ::write(numbers[1], told.data(), sizeof told) == sizeof told;
      ::_exit(is_told && ::read(gate[0], &none, 1) == 0 ? 0 : 1);
    }
  }
  ::close(numbers[1]);
  std::set<std::uint16_t> seen;
  std::array<std::uint16_t, kPorts> told{};
  for (int i = 0; i < kAgents; ++i) {  // a write of so few bytes is whole
    ASSERT_EQ(::read(numbers[0], told.data(), sizeof told), static_cast<ssize_t>(sizeof told));
    seen.insert(told.begin(), told.end());
  }
  ::close(gate[1]);
  ::close(gate[0]);
  ::close(numbers[0]);
  for (const pid_t agent : agents) {
    ASSERT_EQ(::waitpid(agent, nullptr, 0), agent);
  }
  EXPECT_EQ(seen.count(0), 0U) << "one of them got too few";
  EXPECT_EQ(seen.size(), kAgents * kPorts);
}

}  // namespace
}  // namespace muster
