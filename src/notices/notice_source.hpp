#pragma once

// Who tells this node that the job is to give way, beside signals and commands. A new source is a file in this folder and a line in
// make_notice_sources.

#include "agent/run.hpp"
#include "process/helper_process.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// What a source tells: each may be called again and again.
struct NoticeCallbacks {
  /// The job is to give way. `source` is for the user; `within`: what it leaves to the workers, without our margin.
  std::function<void(const std::string& source, std::optional<std::chrono::milliseconds> within)> notice;
  /// It goes on after all.
  std::function<void(const std::string& source)> withdraw;
};

class NoticeSource {
 public:
  NoticeSource() = default;
  NoticeSource(const NoticeSource&) = delete;
  NoticeSource& operator=(const NoticeSource&) = delete;
  virtual ~NoticeSource() = default;

  virtual void start() = 0;
  /// Tells nothing any more.
  virtual void stop() = 0;
  /// The workers were told of a notice, whatever its source.
  virtual void on_told() {}
  /// The job ends as suspended. `then` is called once, after a second at most if there is a core for it.
  virtual void on_suspended(const std::function<void()>& then) { then(); }
};

/// Those that the options ask for; a job that asks for none has none, and wakes up for none. All that is given outlives them.
[[nodiscard]] std::vector<std::unique_ptr<NoticeSource>> make_notice_sources(boost::asio::io_context& io,
                                                                             HelperProcesses& helpers,
                                                                             const SuspendOptions& options,
                                                                             const NoticeCallbacks& callbacks);

// A notice before the end of the allocation, by the clock.

class AllocationEnd final : public NoticeSource {
 public:
  AllocationEnd(boost::asio::io_context& io, const SuspendOptions& options, NoticeCallbacks callbacks)
      : timer_(io), options_(options), callbacks_(std::move(callbacks)) {}

  void start() override;
  void stop() override { timer_.cancel(); }

 private:
  boost::asio::steady_timer timer_;
  const SuspendOptions& options_;
  NoticeCallbacks callbacks_;
};

}  // namespace muster
