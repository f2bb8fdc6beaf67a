#pragma once

// Polls HAI's suspend flag, a byte in shared memory of the first node, and answers the manager of the task.

#include "notices/notice_source.hpp"
#include "process/helper_process.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace muster {

// Messages to the manager of an HAI task.

/// A request as the manager reads it: its whole length as 8 characters, then a pickled {'source': source}.
std::string write_hai_request(std::string_view source);

/// Sends a request and waits some seconds for the length of an answer. Does not read the answer itself: it is a
/// pickle, which could make us execute anything. Returns the error; empty: none.
std::string notify_hai_manager(const std::string& host, std::string_view source);

/// "done" or the error; empty `problem`: no answer in time.
std::string describe_reply(const std::optional<std::string>& problem);

/// Polls the flag five times a second. The job goes on as before if the manager is missing or answers wrongly.
class HaiFlag final : public NoticeSource {
 public:
  HaiFlag(boost::asio::io_context& io, HelperProcesses& helpers, const HaiTask& task, NoticeSourceOwner& owner)
      : NoticeSource(owner), timer_(io), receipt_(io, helpers), farewell_(io, helpers), task_(task) {}

  void start() override { schedule_poll({}); }
  void stop() override { timer_.cancel(); }
  void on_delivered() override;
  void on_suspended() override;

 private:
  void check();
  void schedule_poll(std::chrono::milliseconds time);

  Timer timer_;
  HelperTask receipt_;   ///< confirms the command
  HelperTask farewell_;  ///< says that the task may be stopped
  const HaiTask& task_;
  bool is_set_ = false;  ///< the flag as last read
  bool needs_receipt_ = false;
};

}  // namespace muster
