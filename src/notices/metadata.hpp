#pragma once

// Polls a cloud's metadata server for notices.

#include "notices/metadata_answers.hpp"
#include "notices/notice_source.hpp"
#include "process/helper_process.hpp"

#include <chrono>
#include <string>

namespace muster {

// One query, and its result on the way back from a helper process.

/// Timeout of a query with all its requests.
inline constexpr std::chrono::milliseconds kMetadataLimit{2'000};

/// The last answer and the name needed to read it.
struct MetadataReply {
  HttpAnswer answer;
  std::string own_name;  ///< see `read_cloud_notice`
};

/// Queries 169.254.169.254 without a proxy; blocks.
[[nodiscard]] Result<MetadataReply> ask_metadata_server(Cloud cloud);

[[nodiscard]] std::string encode_reply(const Result<MetadataReply>& reply);
[[nodiscard]] Result<MetadataReply> decode_reply(std::string_view bytes);

/// Queries at once and every 5 seconds, each time in a helper process: a server that hangs blocks nothing else.
class Metadata final : public NoticeSource {
 public:
  Metadata(boost::asio::io_context& io, HelperProcesses& helpers, Cloud cloud, NoticeCallbacks callbacks)
      : helper_task_(io, helpers), timer_(io), cloud_(cloud), callbacks_(std::move(callbacks)) {}

  void start() override { ask(); }
  void stop() override;

 private:
  void ask();
  void schedule(std::chrono::milliseconds pause);
  void take(const HelperTask::Answer& answer);
  void take_failure(const std::string& reason);
  void take_answer(std::optional<std::chrono::milliseconds> left);

  HelperTask helper_task_;
  Timer timer_;
  Cloud cloud_;
  NoticeCallbacks callbacks_;
  int failures_ = 0;  ///< in a row
  bool was_failure_logged_ = false;
  bool was_warned_ = false;
  bool was_recovery_logged_ = false;
  bool has_notice_ = false;
};

}  // namespace muster
