// Reads what a worker wrote about its own failure. Bytes from outside: nothing is taken for
// granted.
#include "base/json.hpp"
#include "base/text.hpp"
#include "output/error_file.hpp"

namespace muster {
namespace {

constexpr std::size_t kLongest = 1'000;

/// Null: it is none.
json::value parse(const std::string& content) {
  boost::system::error_code error;
  json::parse_options limits;
  limits.max_depth = 16;
  json::value document = json::parse(content, error, {}, limits);
  return error || !document.is_object() ? json::value() : document;
}

std::string first_line_of(const json::string& text) {
  const std::string_view lines = trim(std::string_view(text.data(), text.size()));
  return shortened(lines.substr(0, lines.find('\n')), kLongest);
}

}  // namespace

std::string read_error_file(const std::string& content) {
  const json::value document = parse(content);
  if (document.is_null()) {
    return {};
  }
  const json::value* message = document.get_object().if_contains("message");
  if (message != nullptr && message->is_object()) {
    message = message->get_object().if_contains("message");
  }
  return message != nullptr && message->is_string() ? first_line_of(message->get_string())
                                                    : std::string();
}

std::string pass_on_error_file(const std::string& content, int error_code) {
  json::value document = parse(content);
  json::value* const message =
      document.is_null() ? nullptr : document.get_object().if_contains("message");
  if (message == nullptr || !(message->is_string() || message->is_object())) {
    return {};
  }
  if (message->is_object() && error_code != 0) {
    message->get_object()["errorCode"] = error_code;
  }
  return json::serialize(document);
}

}  // namespace muster
