#pragma once

// The store's process's end of its link to the agent. Private to run/.

#include "services/torch_store/poller.hpp"
#include "services/torch_store/store_lines.hpp"

#include <cstdint>
#include <string>

namespace muster {

/// The ranks do not wait for an agent that reads nothing: what it has not read is kept.
class AgentLink {
 public:
  /// `agent` is a stream, and not ours. It is waited for by that number.
  AgentLink(Poller& poller, int agent, std::uint64_t number);

  void send(const StoreMessage& line);
  /// For the user: the first ones only, as others behave alike.
  void remark(const std::string& text);

  /// What was waited for has happened. What the agent asks, a byte each (store_lines.hpp).
  [[nodiscard]] std::string on_ready(std::uint32_t events);
  /// The agent is gone.
  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  void write();

  Poller& poller_;
  int agent_;
  std::uint64_t number_;
  std::string unread_;
  int remarks_ = 0;
  bool is_over_ = false;
};

}  // namespace muster
