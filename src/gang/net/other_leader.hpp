#pragma once

// Asks whether another node 0 leads at the leader's address, for a node 0 that does not have this address.

#include "gang/net/leader_links.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace muster::gang {

/// Asks the process that has the leader's address or port, as a second node 0 would, so that its refusal can be logged.
class OtherLeader : private EventQueue {
 public:
  /// `key` must outlive this object. Joins as node 0 until somebody takes the connection. Logs a leader's refusal and
  /// `remark`, or only `remark` if no refusal comes at once; empty: none. If a Service leads to this node's own
  /// listener, that knows `incarnation` and drops the link, as a stranger does: then no refusal comes.
  OtherLeader(boost::asio::io_context& io, const GangConfig& config, const GangKey* key, const std::string& incarnation,
              std::string remark);
  ~OtherLeader() override { link_.give_up(); }
  OtherLeader(const OtherLeader&) = delete;
  OtherLeader& operator=(const OtherLeader&) = delete;

 private:
  void add(Event event) override;
  void handle(const ParticipantEvent& event);
  void say_remark();

  boost::asio::io_context& io_;
  std::string address_;  ///< "host:port", for messages
  Join join_;
  LinkToLeader link_;
  boost::asio::steady_timer timer_;
  std::chrono::seconds pause_{1};
  std::string remark_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  ///< queued events are dropped with it
};

}  // namespace muster::gang
