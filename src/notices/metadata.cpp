// A failure changes nothing about the job. The first one may be a moment's: only the third in a row is worth a warning.
#include "notices/metadata.hpp"

#include "base/text.hpp"
#include "base/log.hpp"
#include "supervise/notice.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPause{5'000};
/// A question that failed is asked again soon, until it has failed so often in a row.
constexpr milliseconds kPauseAfterFailure{1'000};
constexpr int kFailuresToWarnOf = 3;
/// For the helper process to start and end, too.
constexpr milliseconds kHelperLimit = kMetadataLimit + milliseconds(1'000);
constexpr std::size_t kMostReasonBytes = 200;

}  // namespace

void Metadata::stop() {
  is_stopped_ = true;
  errand_.cancel();
  timer_.cancel();
}

void Metadata::ask() {
  errand_.start({[cloud = cloud_] { return encode_reply(ask_metadata_server(cloud)); }, {}},
                kHelperLimit,
                [this](const HelperTask::Answer& answer) { take(answer); });
}

void Metadata::schedule(milliseconds pause) {
  timer_.expires_after(pause);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled && !is_stopped_) {
      ask();
    }
  });
}

void Metadata::take(const HelperTask::Answer& answer) {
  if (is_stopped_) {
    return;
  }
  const auto reply = decode_reply(answer.value_or(""));
  if (!reply) {
    take_failure(reply.error().message);
    return;
  }
  const auto left =
      read_cloud_notice(cloud_, reply->answer, reply->own_name, std::chrono::system_clock::now());
  if (left) {
    take_news(*left);
  } else {
    take_failure(left.error().message);
  }
}

void Metadata::take_failure(const std::string& reason) {
  const std::string who = std::string("the metadata server of ") + name_of(cloud_);
  const std::string why = one_line(reason, kMostReasonBytes);
  ++failures_;
  if (!was_failure_said_) {
    was_failure_said_ = true;
    log_debug(who + ": " + why);
  }
  if (failures_ == kFailuresToWarnOf && !was_warned_) {
    was_warned_ = true;
    log_warning(who + " does not answer: " + why + "; notices are not seen");
  }
  schedule(failures_ < kFailuresToWarnOf ? kPauseAfterFailure : kPause);
}

/// Only Azure takes a notice back: the others need not be asked again.
void Metadata::take_news(std::optional<milliseconds> left) {
  const std::string source = std::string("a notice of ") + name_of(cloud_);
  if (was_warned_ && !was_recovery_said_) {
    was_recovery_said_ = true;
    log_info(std::string("the metadata server of ") + name_of(cloud_) +
             " answers now: notices are seen");
  }
  failures_ = 0;
  const bool is_news = left.has_value() != has_told_;
  has_told_ = left.has_value();
  if (!has_told_ || cloud_ == Cloud::Azure) {
    schedule(kPause);
  }
  if (!is_news) {
    return;
  }
  if (left) {
    callbacks_.notice(source, time_to_save(*left));
  } else {
    callbacks_.withdraw(source);
  }
}

}  // namespace muster
