#pragma once

// The notices of a cloud, asked of its metadata server. Private to run/.

#include "process/errand.hpp"
#include "notices/metadata_question.hpp"
#include "notices/notice_source.hpp"

#include <boost/asio/steady_timer.hpp>

namespace muster {

/// Asks at once and every 5 seconds, each time by a helper process: a server that does not answer holds nobody up.
class Metadata final : public NoticeSource {
 public:
  Metadata(boost::asio::io_context& io,
           HelperProcesses& helpers,
           Cloud cloud,
           NoticeCallbacks callbacks)
      : errand_(io, helpers), timer_(io), cloud_(cloud), callbacks_(std::move(callbacks)) {}

  void start() override { ask(); }
  void stop() override;

 private:
  void ask();
  void schedule(std::chrono::milliseconds pause);
  void take(const HelperTask::Answer& answer);
  void take_failure(const std::string& reason);
  void take_news(std::optional<std::chrono::milliseconds> left);

  HelperTask errand_;
  boost::asio::steady_timer timer_;
  Cloud cloud_;
  NoticeCallbacks callbacks_;
  int failures_ = 0;  ///< in a row
  bool was_failure_said_ = false;
  bool was_warned_ = false;
  bool was_recovery_said_ = false;
  bool has_told_ = false;
  bool is_stopped_ = false;
};

}  // namespace muster
