#pragma once

// What an agent shows its guard, and what it sees of it. Private to run/.

#include "guard/guard.hpp"

#include "gang/events.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>

namespace muster {

/// The agent's part of `AgentWatchdog`. A beat is a store to memory; the guard is woken once for each lease.
class HeartbeatSender {
 public:
  /// The link outlives it.
  HeartbeatSender(boost::asio::io_context& io, GuardLink& link)
      : timer_(io), link_(link), signal_notifier_(io), sample_timer_(io) {}

  /// From here on a guard that is stopped hears of what it is sent.
  void listen();

  /// The loop has turned, and this is what other nodes count on.
  void renew(const gang::Lease& lease);
  /// The job was asked to end: from here on the guard waits for beats, whoever else counts on us.
  void beat_from_now_on();
  /// The guard was killed: nobody but the kernel ends us should the loop not turn.
  void go_on_alone();

 private:
  using Clock = std::chrono::steady_clock;

  void beat();
  void beat_soon();
  void wait_for_bell();
  void check_guard();

  boost::asio::steady_timer timer_;
  GuardLink& link_;
  boost::asio::posix::stream_descriptor signal_notifier_;
  boost::asio::steady_timer sample_timer_;
  bool is_leased_ = false;
  bool beats_ = false;
  bool is_alone_ = false;
};

}  // namespace muster
