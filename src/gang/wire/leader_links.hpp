#pragma once

// The leader's side of the links: opens the port, accepts whoever comes, and sorts agents from strangers.

#include "gang/decide/leader.hpp"
#include "link.hpp"

#include <muster/gang/listener.hpp>

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

namespace muster::gang {

/// All links but the leader's own. None exists before `open`.
class LeaderLinks {
 public:
  /// `key` outlives this; without one the links are plain. `tell` hears what the links bring.
  LeaderLinks(boost::asio::io_context& io,
              const GangKey* key,
              int most_nodes,
              std::function<void(LeaderEvent)> tell)
      : io_(io), key_(key), most_nodes_(most_nodes), tell_(std::move(tell)) {}

  /// Fails when the port cannot be had.
  [[nodiscard]] std::optional<ListenFailure> open(std::uint16_t port);

  /// Sends to those of the links that are here. A link that is gone has been told of.
  void send(const SendTo& wanted);
  /// Closes the link once everything is sent.
  void drop(LinkId link);

 private:
  void on_accept(boost::asio::ip::tcp::socket socket);
  void on_message(LinkId link, Message message);
  void on_lost(LinkId link, const std::string& why);
  void name_stranger(const Link& link, const std::string& why);
  [[nodiscard]] std::size_t most_pending() const;

  boost::asio::io_context& io_;
  const GangKey* key_;
  int most_nodes_;
  std::function<void(LeaderEvent)> tell_;
  std::unique_ptr<Listener> listener_;
  std::unordered_map<LinkId, std::unique_ptr<Link>> links_;
  std::set<LinkId> pending_;  ///< oldest first: those that have not said who they are
  LinkId next_link_ = kOwnLink + 1;
  std::set<std::string> strangers_;  ///< that have been named, each with its reason
};

}  // namespace muster::gang
