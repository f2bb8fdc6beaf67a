#pragma once

// What an agent is told by the front that has started it: the whole job, so that nothing of it stands
// on a command line.

#include "base/result.hpp"
#include "remote/frames.hpp"
#include "remote/terminals.hpp"
#include "compat/command_line.hpp"

#include <map>
#include <string>

namespace muster {

struct AgentOrder {
  std::string version;                           ///< of the front's muster
  std::string host;                              ///< how the front calls this node
  bool is_first = false;                         ///< it speaks for all nodes
  std::string nonce;                             ///< by which the front knows this agent's words
  std::string working_directory;                 ///< where the job runs
  std::map<std::string, std::string> variables;  ///< beside those that the host has
  Terminals terminals;  ///< of the front, which shows what this agent writes
  CommandLine line;     ///< what to run and how, and who this node is
};

/// As frames, the last of which is "start".
[[nodiscard]] std::string write_order(const AgentOrder& order);

/// Puts an order together again.
class OrderReader {
 public:
  /// True when the frame was the last one. Fails with `BadData` for a frame that an order has not.
  [[nodiscard]] Result<bool> take(const Frame& frame);
  [[nodiscard]] AgentOrder& order() { return order_; }

 private:
  AgentOrder order_;
};

}  // namespace muster
