#pragma once

// HAI's suspend command: a byte in shared memory of the first node.

#include "notices/notice_source.hpp"
#include "process/helper_process.hpp"

#include <boost/asio/steady_timer.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace muster {

// What is said to the manager of a task of HAI.

/// A request as the manager reads it: 8 characters with the length of all of it, and a pickled {'source': source}.
[[nodiscard]] std::string write_hai_request(std::string_view source);

/// Sends it and waits for the length of an answer, for some seconds at most. What the answer says is not read: it is a pickle, which could
/// have us execute anything. Returns what went wrong; empty: nothing.
[[nodiscard]] std::string notify_hai_manager(const std::string& host, std::string_view source);

/// "done", or why not; empty: the time was over.
[[nodiscard]] std::string describe_telling(const std::optional<std::string>& problem);

/// Looks at the byte five times a second, and answers the task's manager. A manager that is not there, says something else or nothing
/// changes nothing about the job.
class HaiFlag final : public NoticeSource {
 public:
  HaiFlag(boost::asio::io_context& io, HelperProcesses& helpers, const HaiTask& task, NoticeCallbacks callbacks)
      : timer_(io), receipt_(io, helpers), farewell_(io, helpers), task_(task), callbacks_(std::move(callbacks)) {}

  void start() override { schedule_poll({}); }
  void stop() override { timer_.cancel(); }
  void on_told() override;
  void on_suspended(const std::function<void()>& then) override;

 private:
  void look();
  void schedule_poll(std::chrono::milliseconds time);

  boost::asio::steady_timer timer_;
  HelperTask receipt_;   ///< says that the command has arrived
  HelperTask farewell_;  ///< says that the task may be stopped
  const HaiTask& task_;
  NoticeCallbacks callbacks_;
  bool is_set_ = false;  ///< the byte, when it was last looked at
  bool owes_receipt_ = false;
};

}  // namespace muster
