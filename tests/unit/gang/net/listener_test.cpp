// The leader's port: free, taken, and full.
#include "gang/net/listener.hpp"

#include "base/log.hpp"
#include "gang/net/loop.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

namespace muster::gang {
namespace {

using boost::asio::ip::tcp;

tcp::socket dial(boost::asio::io_context& io, std::uint16_t port) {
  tcp::socket socket(io);
  socket.connect({boost::asio::ip::address_v4::loopback(), port});
  return socket;
}

TEST(Listener, AcceptsAllWaitingConnections) {
  boost::asio::io_context io;
  auto listener = std::move(*Listener::open(io, 0));
  std::vector<tcp::socket> accepted;
  listener->on_accept = [&](tcp::socket socket) { accepted.push_back(std::move(socket)); };
  std::vector<tcp::socket> dialled;
  for (int i = 0; i < 20; ++i) {
    dialled.push_back(dial(io, listener->port()));
  }
  listener->start();
  ASSERT_TRUE(run_until(io, [&] { return accepted.size() == 20; }));
  dialled.push_back(dial(io, listener->port()));
  ASSERT_TRUE(run_until(io, [&] { return accepted.size() == 21; }));
  for (tcp::socket& socket : accepted) {
    EXPECT_NE(::fcntl(socket.native_handle(), F_GETFD) & FD_CLOEXEC, 0);
  }
}

TEST(Listener, SkipsConnectionsThatWereReset) {
  boost::asio::io_context io;
  auto listener = std::move(*Listener::open(io, 0));
  std::vector<tcp::socket> accepted;
  listener->on_accept = [&](tcp::socket socket) { accepted.push_back(std::move(socket)); };
  tcp::socket reset = dial(io, listener->port());
  reset.set_option(tcp::socket::linger(true, 0));
  reset.close();
  const tcp::socket other = dial(io, listener->port());
  listener->start();
  ASSERT_TRUE(run_until(io, [&] { return !accepted.empty(); }));
  ASSERT_EQ(accepted.size(), 1U);
  EXPECT_EQ(accepted.front().remote_endpoint().port(), other.local_endpoint().port());
}

TEST(Listener, ReportsAPortInUse) {
  boost::asio::io_context io;
  const auto first = std::move(*Listener::open(io, 0));
  const auto second = Listener::open(io, first->port());
  ASSERT_FALSE(second);
  EXPECT_TRUE(second.error().is_in_use);
  EXPECT_EQ(second.error().error.message,
            "cannot listen on port " + std::to_string(first->port()) + ": Address already in use");
}

TEST(Listener, FindsThePortTakenByVersionFourOnly) {
  boost::asio::io_context io;
  const tcp::acceptor four(io, {tcp::v4(), 0});
  const auto listener = Listener::open(io, four.local_endpoint().port());
  ASSERT_FALSE(listener);
  EXPECT_TRUE(listener.error().is_in_use);
}

TEST(Listener, ListensBesideASocketThatIsBoundOnly) {
  boost::asio::io_context io;
  tcp::acceptor bound(io);
  bound.open(tcp::v4());
  bound.set_option(tcp::acceptor::reuse_address(true));
  bound.bind({tcp::v4(), 0});
  EXPECT_TRUE(Listener::open(io, bound.local_endpoint().port()));
}

#ifndef __SANITIZE_ADDRESS__  // which needs descriptors itself, to look at what it checks
TEST(Listener, RestsWhenThereAreNoDescriptors) {
  boost::asio::io_context io;
  auto listener = std::move(*Listener::open(io, 0));
  int accepted = 0;
  std::vector<std::string> notices;
  listener->on_accept = [&](const tcp::socket&) { ++accepted; };
  const tcp::socket dialled = dial(io, listener->port());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  set_log_sink([&](std::string_view line) { notices.emplace_back(line); });
  listener->start();
  const bool has_remarked = run_until(io, [&] { return !notices.empty(); });
  io.restart();
  const std::size_t turns = io.run_for(std::chrono::milliseconds(250));
  set_log_sink({});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);

  ASSERT_TRUE(has_remarked);
  EXPECT_EQ(notices[0], "muster: cannot accept connections, trying again every 0.1 s: Too many open files\n");
  EXPECT_LE(turns, 3U);
  EXPECT_EQ(notices.size(), 1U);
  EXPECT_EQ(accepted, 0);
  EXPECT_TRUE(run_until(io, [&] { return accepted == 1; }));
}
#endif

TEST(PortHolder, IsTheListeningProcess) {
  boost::asio::io_context io;
  const auto listener = std::move(*Listener::open(io, 0));
  const tcp::socket dialled = dial(io, listener->port());
  EXPECT_EQ(describe_port_holder(listener->port()), "pid " + std::to_string(::getpid()) + " (muster_gang_tes)");
}

TEST(PortHolder, IsTheProcessWithAConnectionFromThePort) {
  boost::asio::io_context io;
  const auto listener = std::move(*Listener::open(io, 0));
  const tcp::socket dialled = dial(io, listener->port());
  EXPECT_EQ(describe_port_holder(dialled.local_endpoint().port()),
            "pid " + std::to_string(::getpid()) + " (muster_gang_tes)");
}

TEST(PortHolder, IsEmptyForAFreePort) {
  boost::asio::io_context io;
  const std::uint16_t port = std::move(*Listener::open(io, 0))->port();
  EXPECT_EQ(describe_port_holder(port), "");
}

}  // namespace
}  // namespace muster::gang
