#pragma once

// Polls a cloud's metadata server for notices. Its answers are untrusted input. Private to src/notices.

#include "base/result.hpp"
#include "notices/notice_source.hpp"
#include "process/helper_process.hpp"
#include "run/suspend_options.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

// Answers, as pure functions read them.

/// Size limit of an answer with its header.
inline constexpr std::size_t kMostMetadataBytes = 65'536;

/// The cloud's name in options, "aws".
const char* name_of(Cloud cloud);

struct HttpAnswer {
  int status = 0;
  std::string body;
};

/// Reads one answer from the bytes of a connection, in pieces of any size; work grows with the bytes, not with the pieces.
class HttpReader {
 public:
  HttpReader();
  HttpReader(const HttpReader&) = delete;
  HttpReader& operator=(const HttpReader&) = delete;
  ~HttpReader();

  /// The answer, when it is complete; then feed no more. Empty: incomplete. Fails for too many bytes, or no HTTP.
  [[nodiscard]] Result<std::optional<HttpAnswer>> feed(std::string_view bytes);
  /// The connection has ended, which ends a body without a length. Fails if the answer is incomplete.
  [[nodiscard]] Result<HttpAnswer> end();

 private:
  struct Parser;

  std::unique_ptr<Parser> parser_;
  std::string rest_;      ///< bytes that the parser has not taken, such as half a header
  std::size_t size_ = 0;  ///< of all bytes so far
};

/// The answer's text if it is one word, which is safe in a request header; else empty.
std::optional<std::string> read_metadata_word(const HttpAnswer& answer);

/// Time from `now` until the machine is taken away; empty: it is not. Fails if the answer says neither. `own_name`:
/// Azure's name of this machine, whose events alone count; empty: every event counts.
[[nodiscard]] Result<std::optional<std::chrono::milliseconds>> read_cloud_notice(
    Cloud cloud, const HttpAnswer& answer, std::string_view own_name, std::chrono::system_clock::time_point now);

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

std::string encode_reply(const Result<MetadataReply>& reply);
[[nodiscard]] Result<MetadataReply> decode_reply(std::string_view bytes);

/// Queries at once and every 5 seconds, each time in a helper process: a server that hangs blocks nothing else.
class Metadata final : public NoticeSource {
 public:
  Metadata(boost::asio::io_context& io, HelperProcesses& helpers, Cloud cloud, NoticeSourceOwner& owner)
      : NoticeSource(owner), helper_task_(io, helpers), timer_(io), cloud_(cloud) {}

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
  int failures_ = 0;  ///< in a row
  bool was_failure_logged_ = false;
  bool was_warned_ = false;
  bool was_recovery_logged_ = false;
  bool has_notice_ = false;
};

}  // namespace muster
