// HTTP is Boost.Beast's business: this is the only place that knows it.
#include "services/http.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>

#include <cstdint>
#include <utility>

namespace muster::horovod {
namespace {

namespace http = boost::beast::http;

/// A rank puts the addresses of all others there: about 140 bytes each.
constexpr std::uint64_t kMostBody = std::uint64_t{1} << 20U;
constexpr std::uint32_t kMostHeader = 8'192;
constexpr std::size_t kMostName = 512;

std::optional<Method> method_of(http::verb verb) {
  switch (verb) {
    case http::verb::get:
      return Method::Get;
    case http::verb::put:
      return Method::Put;
    case http::verb::delete_:
      return Method::Delete;
    default:
      return std::nullopt;
  }
}

std::variant<Request, Status> to_request(http::request<http::string_body> message) {
  const auto method = method_of(message.method());
  if (!method) {
    return Status::NotAllowed;
  }
  const std::string target(message.target());
  const std::size_t slash = target.find('/', 1);
  const bool is_of_two_parts = target.starts_with('/') && slash != std::string::npos && slash > 1 &&
                               slash + 1 < target.size() &&
                               target.find('/', slash + 1) == std::string::npos;
  if (!is_of_two_parts || target.size() > kMostName) {
    return Status::BadRequest;
  }
  return Request{
      *method, target.substr(1, slash - 1), target.substr(slash + 1), std::move(message.body())};
}

}  // namespace

struct RequestReader::Parser {
  http::request_parser<http::string_body> http;
  std::string pending;  ///< read, and not enough for the next step
};

RequestReader::RequestReader() : parser_(std::make_unique<Parser>()) {
  parser_->http.header_limit(kMostHeader);
  parser_->http.body_limit(kMostBody);
  parser_->http.eager(true);
}

RequestReader::~RequestReader() = default;

std::optional<std::variant<Request, Status>> RequestReader::feed(std::string_view bytes) {
  std::string& pending = parser_->pending;
  pending.append(bytes);
  boost::beast::error_code error;
  const std::size_t used = parser_->http.put(boost::asio::buffer(pending), error);
  pending.erase(0, used);
  if (error == http::error::body_limit) {
    return Status::TooLarge;
  }
  if (error && error != http::error::need_more) {
    return Status::BadRequest;
  }
  if (!parser_->http.is_done()) {
    return std::nullopt;
  }
  return to_request(parser_->http.release());
}

/// The capitals of Content-Length matter: gloo's client knows the name in no other form.
std::string write_answer(Status status, std::string_view body) {
  const std::string words(http::obsolete_reason(static_cast<http::status>(status)));
  std::string answer = "HTTP/1.1 " + std::to_string(static_cast<int>(status)) + " " + words +
                       "\r\nContent-Length: " + std::to_string(body.size()) +
                       "\r\nConnection: close\r\n\r\n";
  return answer.append(body);
}

}  // namespace muster::horovod
