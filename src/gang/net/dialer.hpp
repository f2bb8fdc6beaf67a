#pragma once

// Dials the leader from an agent: one attempt to connect.

#include "gang/net/resolver.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/result.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace muster::gang {

/// The reason for which a leader cannot be reached.
struct DialFailure {
  /// The later in this list, the more it tells about the leader. If a leader listens on only one of several
  /// addresses, the others refuse or cannot be reached.
  enum class Kind {
    Other,
    Unreachable,  ///< no route to the machine
    TimedOut,     ///< no answer
    Refused,      ///< the machine answers, but no process listens
    NoName        ///< the name does not resolve
  };
  Kind kind = Kind::Other;
  std::string text;      ///< for the user, such as "connection refused by 10.0.0.1:29500"
  bool is_here = false;  ///< refused by this host
};

struct DialLimits {
  std::chrono::milliseconds address{3'000};
  std::chrono::milliseconds whole{10'000};  ///< name and all addresses
};

/// Resolves the name, unless the lookup of the last attempt still runs, and tries its addresses one after the other.
/// Of several failures it reports the most informative one.
class Dialer {
 public:
  using Callback = std::function<void(boost::system::result<boost::asio::ip::tcp::socket, DialFailure>)>;

  explicit Dialer(boost::asio::io_context& io, DialLimits limits = {}) : io_(io), limits_(limits), resolver_(io) {}
  ~Dialer() { cancel(); }  // NOLINT(bugprone-exception-escape): only if memory is exhausted
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  /// Calls back once, never from within this call. A running attempt is cancelled.
  void dial(const std::string& host, std::uint16_t port, Callback callback);

  void cancel();

 private:
  class Attempt;

  boost::asio::io_context& io_;
  DialLimits limits_;
  Resolver resolver_;  ///< its lookup may outlive an attempt
  std::shared_ptr<Attempt> attempt_;
};

/// Describes a failed connect; `limit` is the timeout that it had.
DialFailure describe_dial_failure(const boost::system::error_code& error,
                                  const boost::asio::ip::tcp::endpoint& endpoint, std::chrono::milliseconds limit);

/// Returns the addresses of this machine's interfaces that are up.
std::vector<boost::asio::ip::address> local_addresses();

/// True for an address of this machine: of one of its interfaces, or any loopback address.
bool is_own(const boost::asio::ip::address& given);

}  // namespace muster::gang
