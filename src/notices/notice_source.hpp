#pragma once

// Interface of sources that announce a suspension of the job, besides signals and commands. A new source is a file in
// this folder and a line in make_notice_sources.

#include "agent/run.hpp"
#include "process/helper_process.hpp"
#include "process/timer.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Callbacks of a source; each may be called repeatedly.
struct NoticeCallbacks {
  /// The job is to be suspended. `source`: for the user; `within`: time for the workers, less our margin.
  std::function<void(const std::string& source, std::optional<std::chrono::milliseconds> within)> notice;
  /// The notice is withdrawn: the job goes on.
  std::function<void(const std::string& source)> withdraw;
};

class NoticeSource {
 public:
  NoticeSource() = default;
  NoticeSource(const NoticeSource&) = delete;
  NoticeSource& operator=(const NoticeSource&) = delete;
  virtual ~NoticeSource() = default;

  virtual void start() = 0;
  /// No callback is called after this.
  virtual void stop() = 0;
  /// The workers have been told of a notice, from any source.
  virtual void on_delivered() {}
  /// The job ends as suspended. Calls `then` once, after a second at most if it gets a CPU.
  virtual void on_suspended(const std::function<void()>& then) { then(); }
};

/// Makes the sources that the options ask for; without any, nothing polls. All arguments outlive them.
[[nodiscard]] std::vector<std::unique_ptr<NoticeSource>> make_notice_sources(boost::asio::io_context& io,
                                                                             HelperProcesses& helpers,
                                                                             const SuspendOptions& options,
                                                                             const NoticeCallbacks& callbacks);

// Gives a notice at a fixed time before the end of the allocation.

class AllocationEnd final : public NoticeSource {
 public:
  AllocationEnd(boost::asio::io_context& io, const SuspendOptions& options, NoticeCallbacks callbacks)
      : timer_(io), options_(options), callbacks_(std::move(callbacks)) {}

  void start() override;
  void stop() override { timer_.cancel(); }

 private:
  Timer timer_;
  const SuspendOptions& options_;
  NoticeCallbacks callbacks_;
};

}  // namespace muster
