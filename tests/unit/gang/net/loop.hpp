#pragma once

// A loop that a test turns until something has happened, and what tests of sockets share.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <utility>

namespace muster::gang {

/// False when it has not happened within two minutes: it hangs.
inline bool run_until(boost::asio::io_context& io, const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (!done() && std::chrono::steady_clock::now() < deadline) {
    io.restart();
    (void)io.run_one_until(deadline);
  }
  return done();
}

/// Runs what is ready, and waits for nothing.
inline void run_ready(boost::asio::io_context& io) {
  io.restart();
  (void)io.poll();
}

using Sockets = std::pair<boost::asio::ip::tcp::socket, boost::asio::ip::tcp::socket>;

/// The accepted end and the dialled one of a connection on this machine.
inline Sockets connected_pair(boost::asio::io_context& io) {
  using boost::asio::ip::tcp;
  const tcp::endpoint any(boost::asio::ip::address_v4::loopback(), 0);
  tcp::acceptor acceptor(io, any);
  tcp::socket dialled(io);
  dialled.connect(acceptor.local_endpoint());
  tcp::socket accepted = acceptor.accept();
  return {std::move(accepted), std::move(dialled)};
}

}  // namespace muster::gang
