#pragma once

// Writes bad nodes into the file of --bad-nodes (docs/preflight.md). Private to src/agent.

#include "agent/shutdown.hpp"
#include "gang/gang.hpp"
#include "process/helper_process.hpp"

#include <boost/asio/io_context.hpp>

#include <string>

namespace muster {

/// Writes in a helper process, because the file system may hang. The end of the job waits some seconds for this process.
class BadNodesKeeper {
 public:
  /// The references outlive it.
  BadNodesKeeper(boost::asio::io_context& io, HelperProcesses& helpers, PendingWork& pending, const std::string& path)
      : pending_(pending), path_(path), task_(io, helpers) {}

  void keep(const gang::KeepBadNode& wanted);

 private:
  PendingWork& pending_;
  const std::string& path_;
  HelperTask task_;
};

}  // namespace muster
