#pragma once

// HAI's suspend command: a byte in shared memory of the first node. Private to run/.

#include "process/errand.hpp"
#include "notices/notice_source.hpp"

#include <boost/asio/steady_timer.hpp>

namespace muster {

/// Looks at the byte five times a second, and answers the task's manager. A manager that is not there, says something else or nothing
/// changes nothing about the job.
class HaiFlag final : public NoticeSource {
 public:
  HaiFlag(boost::asio::io_context& io,
          HelperProcesses& helpers,
          const HaiTask& task,
          NoticeCallbacks callbacks)
      : timer_(io),
        receipt_(io, helpers),
        farewell_(io, helpers),
        task_(task),
        callbacks_(std::move(callbacks)) {}

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
