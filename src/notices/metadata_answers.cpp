// Reads the fields of three clouds' answers; Boost.Beast parses HTTP, Boost.JSON the document.
#include "base/json.hpp"
#include "base/text.hpp"
#include "notices/metadata.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <utility>

namespace muster {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::system_clock;

constexpr int kOk = 200;
constexpr int kNotFound = 404;
constexpr std::uint32_t kMostHeaderBytes = 16'384;
constexpr std::size_t kMostWordBytes = 1'024;
constexpr std::size_t kMostShownBytes = 60;
/// GCP stops a machine this long after its notice, and so does Azure where it names no time.
constexpr milliseconds kUsualLead{30'000};
constexpr std::chrono::seconds kMostLead{315'360'000};  // ten years, as for all durations

Error unreadable(std::string what) {
  return {ErrorKind::BadData, std::move(what)};
}

Error unexpected(const HttpAnswer& answer) {
  return unreadable("its answer is '" + one_line(answer.body, kMostShownBytes) + "', status " +
                    std::to_string(answer.status));
}

constexpr const char* kIsoTime = "%Y-%m-%dT%H:%M:%SZ";          // 2017-09-18T08:22:00Z
constexpr const char* kHttpTime = "%a, %d %b %Y %H:%M:%S GMT";  // Mon, 18 Sep 2017 08:22:00 GMT

/// The program sets no locale, so that the names are English.
std::optional<std::chrono::sys_seconds> read_time(std::string_view text, const char* format) {
  std::tm parts{};
  const bool is_read = ::strptime(std::string(text).c_str(), format, &parts) != nullptr;
  const std::time_t time = ::timegm(&parts);  // changes the 30th of February to a day of March
  std::array<char, 64> again{};
  const std::size_t size = std::strftime(again.data(), again.size(), format, &parts);
  const bool is_same = is_read && text == std::string_view(again.data(), size);
  return is_same ? std::optional(std::chrono::sys_seconds(std::chrono::seconds(time))) : std::nullopt;
}

/// Clamped in seconds: year 9999 overflows nanoseconds.
milliseconds left_until(std::chrono::sys_seconds time, Clock::time_point now) {
  return std::clamp(time - std::chrono::time_point_cast<milliseconds>(now), milliseconds(0), milliseconds(kMostLead));
}

/// Every action takes the machine away: "terminate", "stop" and "hibernate".
Result<std::optional<milliseconds>> read_aws(const HttpAnswer& answer, Clock::time_point now) {
  if (answer.status == kNotFound) {
    return std::optional<milliseconds>();
  }
  const auto object = parse_object(answer.body);
  if (answer.status != kOk || !object || text_of(*object, "action").empty()) {
    return unexpected(answer);
  }
  const auto time = read_time(text_of(*object, "time"), kIsoTime);
  if (!time) {
    return unexpected(answer);
  }
  return std::optional(left_until(*time, now));
}

Result<std::optional<milliseconds>> read_gcp(const HttpAnswer& answer) {
  const std::string_view word = trim(answer.body);
  if (answer.status != kOk || (word != "TRUE" && word != "FALSE")) {
    return unexpected(answer);
  }
  return word == "TRUE" ? std::optional(kUsualLead) : std::nullopt;
}

/// True if the event names this machine or none; an event lists its machines.
bool is_about(const json::object& event, std::string_view own_name) {
  const json::value* const resources = event.if_contains("Resources");
  if (own_name.empty() || resources == nullptr || !resources->is_array()) {
    return true;
  }
  const std::string own = lower_case(std::string(own_name));
  return std::any_of(resources->get_array().begin(), resources->get_array().end(), [&](const json::value& name) {
    return name.is_string() && lower_case(std::string(name.get_string())) == own;
  });
}

/// Time that the event leaves; empty: it does not take this machine away for good.
std::optional<milliseconds> read_azure_event(const json::value& value, std::string_view own_name,
                                             Clock::time_point now) {
  const json::object* const event = value.if_object();
  if (event == nullptr || !is_about(*event, own_name)) {
    return std::nullopt;
  }
  const std::string_view type = text_of(*event, "EventType");
  if (type != "Preempt" && type != "Terminate") {
    return std::nullopt;
  }
  const std::string_view text = text_of(*event, "NotBefore");
  const auto http_time = read_time(text, kHttpTime);
  const auto time = http_time ? http_time : read_time(text, kIsoTime);
  return time ? left_until(*time, now) : kUsualLead;
}

Result<std::optional<milliseconds>> read_azure(const HttpAnswer& answer, std::string_view own_name,
                                               Clock::time_point now) {
  const auto object = parse_object(answer.body);
  const json::value* const events = object ? object->if_contains("Events") : nullptr;
  if (answer.status != kOk || events == nullptr || !events->is_array()) {
    return unexpected(answer);
  }
  std::optional<milliseconds> least;
  for (const json::value& event : events->get_array()) {
    if (const auto left = read_azure_event(event, own_name, now)) {
      least = std::min(least.value_or(*left), *left);
    }
  }
  return least;
}

}  // namespace

const char* name_of(Cloud cloud) {
  constexpr std::array kNames = {"aws", "gcp", "azure"};
  return kNames.at(static_cast<std::size_t>(cloud));
}

struct HttpReader::Parser {
  boost::beast::http::response_parser<boost::beast::http::string_body> http;

  Result<HttpAnswer> take(const boost::system::error_code& error) {
    if (error || !http.is_done()) {
      return unreadable("its answer is not a complete HTTP answer");
    }
    auto message = http.release();
    return HttpAnswer{static_cast<int>(message.result_int()), std::move(message.body())};
  }
};

HttpReader::HttpReader() : parser_(std::make_unique<Parser>()) {
  parser_->http.header_limit(kMostHeaderBytes);
  parser_->http.body_limit(kMostMetadataBytes);
  parser_->http.eager(true);
}

HttpReader::~HttpReader() = default;

Result<std::optional<HttpAnswer>> HttpReader::feed(std::string_view bytes) {
  size_ += bytes.size();
  if (size_ > kMostMetadataBytes) {
    return unreadable("its answer is too long");
  }
  rest_ += bytes;
  boost::system::error_code error;
  rest_.erase(0, parser_->http.put(boost::asio::buffer(rest_), error));
  if (error == boost::beast::http::error::need_more || (!error && !parser_->http.is_done())) {
    return std::optional<HttpAnswer>();
  }
  return std::optional(TRY(parser_->take(error)));
}

Result<HttpAnswer> HttpReader::end() {
  boost::system::error_code error;
  if (parser_->http.got_some()) {
    parser_->http.put_eof(error);
  }
  return parser_->take(error);
}

std::optional<std::string> read_metadata_word(const HttpAnswer& answer) {
  const std::string_view word = trim(answer.body);
  const bool is_word = std::all_of(word.begin(), word.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (answer.status != kOk || !is_word || word.empty() || word.size() > kMostWordBytes) {
    return std::nullopt;
  }
  return std::string(word);
}

Result<std::optional<milliseconds>> read_cloud_notice(Cloud cloud, const HttpAnswer& answer, std::string_view own_name,
                                                      Clock::time_point now) {
  switch (cloud) {
    case Cloud::Aws:
      return read_aws(answer, now);
    case Cloud::Gcp:
      return read_gcp(answer);
    case Cloud::Azure:
      return read_azure(answer, own_name, now);
  }
  return std::optional<milliseconds>();
}

}  // namespace muster
