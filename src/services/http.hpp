#pragma once

// A request of Horovod's store as HTTP has it, and its answer. Pure, and private to service/.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace muster::horovod {

enum class Method {
  Get,
  Put,
  Delete
};

/// PUT, GET or DELETE of /<scope>/<key>.
struct Request {
  Method method = Method::Get;
  std::string scope;
  std::string key;
  std::string body;
};

enum class Status {
  Ok = 200,
  BadRequest = 400,
  NotFound = 404,
  NotAllowed = 405,
  TooLarge = 413,
  Full = 507
};

/// Reads one request, however it is torn.
class RequestReader {
 public:
  RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;
  ~RequestReader();

  /// Nothing: there is more to come. A status is the answer to what is no request of the store.
  [[nodiscard]] std::optional<std::variant<Request, Status>> feed(std::string_view bytes);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

/// An answer as it goes over the wire, after which the connection is closed.
[[nodiscard]] std::string write_answer(Status status, std::string_view body = {});

}  // namespace muster::horovod
