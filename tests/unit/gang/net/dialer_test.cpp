// From names to addresses, and from addresses to connections.
#include "gang/net/dialer.hpp"

#include "gang/net/loop.hpp"
#include "gang/net/resolver.hpp"

#include <algorithm>
#include <optional>

namespace muster::gang {
namespace {

using boost::asio::ip::address;
using boost::asio::ip::make_address;
using boost::asio::ip::tcp;
using boost::system::error_code;
using Kind = DialFailure::Kind;

class DialerTest : public testing::Test {
 protected:
  Result<Resolver::Addresses> resolve(const std::string& host) {
    std::optional<Result<Resolver::Addresses>> result;
    Resolver resolver(io_);
    resolver.resolve(host, [&](auto found) { result = std::move(found); });
    EXPECT_FALSE(result);  // not from within the call
    if (!run_until(io_, [&] { return result.has_value(); })) {
      return Error{ErrorKind::System, "no answer"};
    }
    return *result;
  }

  /// The failure; of kind Other and without text when it was none.
  DialFailure dial(const std::string& host, std::uint16_t port) {
    std::optional<DialFailure> failure;
    Dialer dialer(io_);
    dialer.dial(host, port, [&](auto result) { failure = result ? DialFailure{} : std::move(result.error()); });
    EXPECT_FALSE(failure);  // not from within the call
    EXPECT_TRUE(run_until(io_, [&] { return failure.has_value(); }));
    return failure.value_or(DialFailure{});
  }

  /// A port where nobody listens and nobody will.
  std::uint16_t closed_port() {
    closed_.open(tcp::v4());
    closed_.bind({boost::asio::ip::address_v4::loopback(), 0});
    return closed_.local_endpoint().port();
  }

  boost::asio::io_context io_;
  tcp::socket closed_{io_};
};

DialFailure dial_failure(int error_number, const char* host) {
  return describe_dial_failure({error_number, boost::system::system_category()}, {make_address(host), 29'500},
                               std::chrono::milliseconds(3'000));
}

TEST_F(DialerTest, TakesANumericAddressUnchanged) {
  EXPECT_EQ(*resolve("10.1.2.3"), Resolver::Addresses{make_address("10.1.2.3")});
  EXPECT_EQ(*resolve("fd00::1"), Resolver::Addresses{make_address("fd00::1")});
}

TEST_F(DialerTest, ResolvesTheNameOfThisMachine) {
  const auto addresses = resolve("localhost");
  ASSERT_TRUE(addresses) << addresses.error().message;
  EXPECT_TRUE(std::all_of(addresses->begin(), addresses->end(), [](const address& one) { return one.is_loopback(); }));
}

TEST_F(DialerTest, ReportsWhyANameDoesNotResolve) {
  // A name with a blank is refused without asking anybody.
  const auto addresses = resolve("no such host");
  ASSERT_FALSE(addresses);
  EXPECT_EQ(addresses.error().message, "no such name in /etc/hosts or DNS");
  const DialFailure failure = dial("no such host", 1);
  EXPECT_EQ(failure.kind, Kind::NoName);
  EXPECT_EQ(failure.text, "name 'no such host' does not resolve (no such name in /etc/hosts or DNS)");
}

TEST_F(DialerTest, ContinuesAnUnfinishedLookUp) {
  for (const bool is_over : {false, true}) {
    int heard_by_the_first = 0;
    std::optional<Result<Resolver::Addresses>> heard;
    Resolver resolver(io_);
    resolver.resolve("localhost", [&](const auto&) { ++heard_by_the_first; });
    resolver.leave();
    resolver.leave();  // once more changes nothing
    if (is_over) {
      io_.restart();
      io_.run();  // its answer comes while nobody listens
    }
    resolver.resolve("localhost", [&](auto found) { heard = std::move(found); });
    io_.restart();
    io_.run();
    EXPECT_EQ(heard_by_the_first, 0);
    ASSERT_TRUE(heard);
    EXPECT_TRUE(*heard) << heard->error().message;
  }
}

TEST_F(DialerTest, ForgetsACancelledLookUp) {
  bool was_called = false;
  {
    Resolver resolver(io_);
    resolver.resolve("localhost", [&](const auto&) { was_called = true; });
    resolver.resolve("127.0.0.1", [&](const auto&) { was_called = true; });
  }
  run_ready(io_);
  EXPECT_FALSE(was_called);
}

TEST_F(DialerTest, MayBeDestroyedInItsCallback) {
  auto resolver = std::make_unique<Resolver>(io_);
  resolver->resolve("localhost", [&](const auto&) { resolver.reset(); });
  EXPECT_TRUE(run_until(io_, [&] { return !resolver; }));
  auto dialer = std::make_unique<Dialer>(io_);
  dialer->dial("localhost", closed_port(), [&](const auto&) { dialer.reset(); });
  EXPECT_TRUE(run_until(io_, [&] { return !dialer; }));
}

TEST_F(DialerTest, Connects) {
  tcp::acceptor acceptor(io_, {boost::asio::ip::address_v4::loopback(), 0});
  EXPECT_EQ(dial("localhost", acceptor.local_endpoint().port()).text, "");
  EXPECT_EQ(dial("127.0.0.1", acceptor.local_endpoint().port()).text, "");
}

TEST_F(DialerTest, SaysThatItWasRefused) {
  const std::uint16_t port = closed_port();
  const DialFailure failure = dial("127.0.0.1", port);
  EXPECT_EQ(failure.kind, Kind::Refused);
  EXPECT_EQ(failure.text, "connection refused by 127.0.0.1:" + std::to_string(port));
}

TEST_F(DialerTest, ForgetsACancelledAttempt) {
  bool was_called = false;
  Dialer dialer(io_);
  dialer.dial("127.0.0.1", closed_port(), [&](const auto&) { was_called = true; });
  dialer.cancel();
  run_ready(io_);
  EXPECT_FALSE(was_called);
}

TEST(DialFailure, DescribesTheFailure) {
  EXPECT_EQ(dial_failure(ECONNREFUSED, "10.0.0.1").text, "connection refused by 10.0.0.1:29500");
  EXPECT_EQ(dial_failure(ETIMEDOUT, "10.0.0.1").text, "no answer from 10.0.0.1:29500 within 3 s");
  EXPECT_EQ(dial_failure(ETIMEDOUT, "10.0.0.1").kind, Kind::TimedOut);
  EXPECT_EQ(dial_failure(ENETUNREACH, "fd00::1").text, "no route to [fd00::1]:29500");
  EXPECT_EQ(dial_failure(EHOSTUNREACH, "fd00::1").kind, Kind::Unreachable);
  EXPECT_EQ(dial_failure(EACCES, "10.0.0.1").text, "cannot connect to 10.0.0.1:29500: Permission denied");
  EXPECT_EQ(dial_failure(EACCES, "10.0.0.1").kind, Kind::Other);
}

TEST(OwnAddresses, AreThoseOfThisMachine) {
  for (const address& one : local_addresses()) {
    EXPECT_TRUE(is_own(one)) << one;
  }
  EXPECT_TRUE(is_own(make_address("127.0.0.1")));
  EXPECT_TRUE(is_own(make_address("127.3.2.1")));
  EXPECT_TRUE(is_own(make_address("::1")));
  EXPECT_TRUE(is_own(make_address("::ffff:127.0.0.1")));
  EXPECT_FALSE(is_own(make_address("192.0.2.1")));
  EXPECT_FALSE(is_own(make_address("2001:db8::1")));
}

}  // namespace
}  // namespace muster::gang
