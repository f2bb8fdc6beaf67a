#pragma once

// From a host's name to its addresses, without the loop waiting for a name server.

#include "base/result.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace muster::gang {

// Addresses of the other ends of links.

/// Version 4 as such where it came mapped into version 6.
[[nodiscard]] boost::asio::ip::address unmapped(const boost::asio::ip::address& mapped);

/// What one owner has as a rule: the address itself; for version 6 all that have the same first half.
[[nodiscard]] std::string source_prefix_of(const boost::asio::ip::address& peer);

/// Looks names up one at a time.
///
/// The C library can only wait, and for as long as name servers take, so it waits in a thread of its
/// own. Nobody waits for the thread: a cancelled look-up ends unheard, and the program may end while
/// one runs. Where there is no thread to be had the caller waits, up to a second for each name server and
/// search domain.
class Resolver {
 public:
  using Addresses = std::vector<boost::asio::ip::address>;
  using Callback = std::function<void(Result<Addresses>)>;

  explicit Resolver(boost::asio::io_context& io) : io_(io) {}
  ~Resolver() { cancel(); }
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// Calls back once, never from within this call. The addresses are each there once and at least
  /// one; an error is a few words, such as "no such name". A look-up that is under way
  /// is cancelled, unless it was left and is of the same name.
  void resolve(const std::string& host, Callback callback) { resolve(host, std::move(callback), WithoutThread::Wait); }

  /// The same for what is nice to know: never calls back where there is no thread to be had.
  void resolve_in_helper(const std::string& host, Callback callback) {
    resolve(host, std::move(callback), WithoutThread::Forget);
  }

  /// The callback is not called any more, but the look-up goes on: the next `resolve` of the same name has what
  /// it finds. Dead name servers and search domains together may take longer than anybody waits at once.
  void leave();

  void cancel();

 private:
  class Lookup;
  enum class WithoutThread {
    Wait,   ///< the look-up is made in place
    Forget  ///< there is none
  };

  void resolve(const std::string& host, Callback callback, WithoutThread without_thread);

  boost::asio::io_context& io_;
  std::shared_ptr<Lookup> lookup_;
};

}  // namespace muster::gang
