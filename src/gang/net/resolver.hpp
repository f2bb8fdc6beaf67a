#pragma once

// Resolves host names without blocking the event loop.

#include "base/result.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace muster::gang {

// Peer addresses.

/// Converts an IPv4-mapped address to IPv4.
boost::asio::ip::address unmapped(const boost::asio::ip::address& mapped);

/// Returns the addresses that usually have one owner: an IPv4 address, or the first 64 bits of an IPv6 address.
std::string source_prefix_of(const boost::asio::ip::address& peer);

/// Resolves names one at a time.
///
/// The C library can only block, for as long as the name servers take, so it runs in a thread. The thread is never
/// joined: the result of a cancelled lookup is dropped, and the program may exit meanwhile. If no thread can be
/// started the caller blocks, up to a second for each name server and search domain.
class Resolver {
 public:
  using Addresses = std::vector<boost::asio::ip::address>;
  using Callback = std::function<void(Result<Addresses>)>;

  explicit Resolver(boost::asio::io_context& io) : io_(io) {}
  ~Resolver() { cancel(); }
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// Calls back once, never from within this call: with at least one address and no duplicates, or with a short error
  /// such as "no such name". Cancels a running lookup, but goes on with one for the same name after `leave`.
  void resolve(const std::string& host, Callback callback) { resolve(host, std::move(callback), WithoutThread::Wait); }

  /// As `resolve`, for optional information: never calls back if no thread can be started.
  void resolve_optional(const std::string& host, Callback callback) {
    resolve(host, std::move(callback), WithoutThread::Forget);
  }

  /// Drops the callback but lets the lookup continue: the next `resolve` of the same name gets its result. Dead name
  /// servers and search domains together may take longer than one caller waits.
  void leave();

  void cancel();

 private:
  class Lookup;
  enum class WithoutThread {
    Wait,   ///< resolve in place
    Forget  ///< drop the lookup
  };

  void resolve(const std::string& host, Callback callback, WithoutThread without_thread);

  boost::asio::io_context& io_;
  std::shared_ptr<Lookup> lookup_;
};

}  // namespace muster::gang
