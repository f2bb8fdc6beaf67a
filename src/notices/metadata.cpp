// Polls a cloud's metadata server. Failures change nothing about the job; only the third in a row is a warning.
#include "notices/metadata.hpp"

#include "base/file_io.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "supervise/supervisor.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <utility>

namespace muster {

// Plain HTTP over a blocking socket: one connection for each request.

namespace {

using Instant = std::chrono::steady_clock::time_point;

/// The address is the same in all three clouds.
constexpr const char* kAddress = "169.254.169.254";
constexpr std::uint16_t kMetadataPort = 80;

Error too_late() {
  return {ErrorKind::System, "no answer within 2 s"};
}

Error failed(const char* attempt) {
  const int number = errno;
  return number == EAGAIN || number == EINPROGRESS || number == ETIMEDOUT ? too_late() : system_error(attempt, number);
}

/// Limits each call to what is left of the query's timeout. False: nothing is left.
bool limit_calls(int fd, Instant deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(deadline - std::chrono::steady_clock::now());
  if (left.count() <= 0) {
    return false;
  }
  const timeval time{left.count() / 1'000'000, left.count() % 1'000'000};
  return ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time) == 0 &&
         ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) == 0;
}

Result<UniqueFd> connect_to_server(Instant deadline) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) {
    return system_error("cannot make a socket", errno);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kMetadataPort);
  (void)::inet_pton(AF_INET, kAddress, &address.sin_addr);
  if (!limit_calls(fd.get(), deadline)) {
    return too_late();
  }
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return failed("cannot connect to 169.254.169.254");
  }
  return fd;
}

Result<HttpAnswer> receive(int fd, Instant deadline) {
  HttpReader reader;
  std::array<char, 4'096> buffer{};
  while (true) {
    if (!limit_calls(fd, deadline)) {
      return too_late();
    }
    const ssize_t count = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (count < 0) {
      return failed("cannot read from 169.254.169.254");
    }
    if (count == 0) {
      return reader.end();
    }
    auto answer = TRY(reader.feed({buffer.data(), static_cast<std::size_t>(count)}));
    if (answer) {
      return std::move(*answer);
    }
  }
}

struct Question {
  std::string line;     ///< such as "GET /path"
  std::string headers;  ///< of this cloud, each with its line end
  const char* host = kAddress;
};

Result<HttpAnswer> ask(const Question& question, Instant deadline) {
  const auto fd = TRY(connect_to_server(deadline));
  // So few bytes always fit into the socket's send buffer.
  const std::string request =
      question.line + " HTTP/1.1\r\nHost: " + question.host + "\r\n" + question.headers + "Connection: close\r\n\r\n";
  if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    return failed("cannot write to 169.254.169.254");
  }
  return receive(fd.get(), deadline);
}

Result<MetadataReply> request_once(const Question& question, Instant deadline) {
  auto answer = ask(question, deadline);
  return answer ? Result<MetadataReply>(MetadataReply{std::move(*answer), {}}) : answer.error();
}

/// Uses version 2 of the service, the only one that many machines offer.
Result<MetadataReply> ask_aws_metadata(Instant deadline) {
  const auto answer = TRY(
      ask({"PUT /latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 60\r\nContent-Length: 0\r\n"}, deadline));
  const auto token = read_metadata_word(answer);
  if (!token) {
    return Error{ErrorKind::BadData, "it gives no token, status " + std::to_string(answer.status)};
  }
  return request_once({"GET /latest/meta-data/spot/instance-action", "X-aws-ec2-metadata-token: " + *token + "\r\n"},
                      deadline);
}

/// All machines of a scale set get each other's events, so an event is compared with this machine's name.
Result<MetadataReply> ask_azure_metadata(Instant deadline) {
  const std::string header = "Metadata: true\r\n";
  auto reply = TRY(request_once({"GET /metadata/scheduledevents?api-version=2020-07-01", header}, deadline));
  const auto notice = read_cloud_notice(Cloud::Azure, reply.answer, {}, {});
  if (notice && *notice) {
    const auto name =
        TRY(ask({"GET /metadata/instance/compute/name?api-version=2020-06-01&format=text", header}, deadline));
    reply.own_name = read_metadata_word(name).value_or("");
  }
  return reply;
}

}  // namespace

Result<MetadataReply> ask_metadata_server(Cloud cloud) {
  const Instant deadline = std::chrono::steady_clock::now() + kMetadataLimit;
  switch (cloud) {
    case Cloud::Aws:
      return ask_aws_metadata(deadline);
    case Cloud::Gcp:
      return request_once(
          {"GET /computeMetadata/v1/instance/preempted", "Metadata-Flavor: Google\r\n", "metadata.google.internal"},
          deadline);
    case Cloud::Azure:
      return ask_azure_metadata(deadline);
  }
  return too_late();
}

std::string encode_reply(const Result<MetadataReply>& reply) {
  json::object document;
  if (reply) {
    document = {{"status", reply->answer.status}, {"body", reply->answer.body}, {"own_name", reply->own_name}};
  } else {
    document = {{"error", reply.error().message}};
  }
  json::value value = std::move(document);
  make_valid_utf8(value);
  return json::serialize(value);
}

Result<MetadataReply> decode_reply(std::string_view bytes) {
  const auto object = parse_object(bytes);
  if (!object) {
    return too_late();
  }
  if (const json::value* const message = object->if_contains("error")) {
    return Error{ErrorKind::System, std::string(message->as_string())};
  }
  return MetadataReply{{static_cast<int>(object->at("status").as_int64()), std::string(object->at("body").as_string())},
                       std::string(object->at("own_name").as_string())};
}

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPause{5'000};
/// A failed query is repeated soon, until it has failed this often in a row.
constexpr milliseconds kPauseAfterFailure{1'000};
constexpr int kFailuresToWarnOf = 3;
/// Includes the start and the end of the helper process.
constexpr milliseconds kHelperLimit = kMetadataLimit + milliseconds(1'000);
constexpr std::size_t kMostReasonBytes = 200;

}  // namespace

void Metadata::stop() {
  helper_task_.cancel();
  timer_.cancel();
}

void Metadata::ask() {
  helper_task_.start({[cloud = cloud_] { return encode_reply(ask_metadata_server(cloud)); }, kHelperLimit,
                      [this](const HelperTask::Answer& answer) { take(answer); }});
}

void Metadata::schedule(milliseconds pause) {
  timer_.start(pause, [this] { ask(); });
}

void Metadata::take(const HelperTask::Answer& answer) {
  const auto reply = decode_reply(answer.value_or(""));
  if (!reply) {
    take_failure(reply.error().message);
    return;
  }
  const auto left = read_cloud_notice(cloud_, reply->answer, reply->own_name, std::chrono::system_clock::now());
  if (left) {
    take_answer(*left);
  } else {
    take_failure(left.error().message);
  }
}

void Metadata::take_failure(const std::string& reason) {
  const std::string who = std::string("the metadata server of ") + name_of(cloud_);
  const std::string why = one_line(reason, kMostReasonBytes);
  ++failures_;
  if (!std::exchange(was_failure_logged_, true)) {
    log_debug(who + ": " + why);
  }
  if (failures_ == kFailuresToWarnOf && !std::exchange(was_warned_, true)) {
    log_warning(who + " does not answer: " + why + "; notices are not seen");
  }
  schedule(failures_ < kFailuresToWarnOf ? kPauseAfterFailure : kPause);
}

/// After a notice only Azure is polled again, because only Azure can withdraw one.
void Metadata::take_answer(std::optional<milliseconds> left) {
  const std::string source = std::string("a notice of ") + name_of(cloud_);
  if (was_warned_ && !std::exchange(was_recovery_logged_, true)) {
    log_info(std::string("the metadata server of ") + name_of(cloud_) + " answers now: notices are seen");
  }
  failures_ = 0;
  const bool is_change = left.has_value() != has_notice_;
  has_notice_ = left.has_value();
  if (!has_notice_ || cloud_ == Cloud::Azure) {
    schedule(kPause);
  }
  if (!is_change) {
    return;
  }
  if (left) {
    owner().take_notice(source, time_to_save(*left));
  } else {
    owner().withdraw_notice(source);
  }
}

}  // namespace muster
