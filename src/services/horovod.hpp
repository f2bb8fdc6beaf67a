#pragma once

// Horovod's store: parses HTTP requests, keeps values, and lets clients wait for a key. Pure; private to services/.

#include "services/service.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
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

/// Parses one HTTP request from bytes in any pieces.
class RequestReader {
 public:
  RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;
  ~RequestReader();

  /// Empty: the request is incomplete. A status is the answer to an invalid or unsupported request.
  [[nodiscard]] std::optional<std::variant<Request, Status>> feed(std::string_view bytes);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

/// Formats an HTTP response, after which the connection is closed.
[[nodiscard]] std::string write_answer(Status status, std::string_view body = {});

// The values by scope and key, and the clients that wait for a key.

/// A response for a client.
struct Reply {
  ClientId client = 0;
  std::string bytes;
};

/// The members of a scope ("global", "local_<host>", "cross_<local rank>") put their addresses under their ranks,
/// read the addresses of all others, and delete their own once they are connected. A scope is removed when all its
/// members have deleted theirs.
///
/// Horovod's clients ask for a rank every 10 ms until it is there. The store defers the answer for a moment while the
/// rank is missing, so that hundreds of clients cost little.
class Store {
 public:
  enum class Next {
    Read,   ///< read more of the client's bytes
    Reply,  ///< `take_reply` has the answer
    Hold    ///< the answer comes later
  };

  /// Most bytes that the store keeps.
  static constexpr std::size_t kMostBytes = std::size_t{512} << 20U;

  explicit Store(std::size_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  [[nodiscard]] Next on_bytes(ClientId client, std::string_view bytes);
  /// The client's wait has timed out, or the client is gone.
  void on_deferred(ClientId client);
  void on_closed(ClientId client);

  /// The next response, in the order in which they became known; empty: none.
  [[nodiscard]] std::optional<Reply> take_reply();

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct KeyScope {
    std::map<std::string, std::string> values;
    std::set<std::string> finished;  ///< ranks that have deleted their key
  };
  struct Place {
    std::string scope;
    std::string key;
    // NOLINTNEXTLINE(modernize-use-nullptr): the generated code compares with a zero
    auto operator<=>(const Place&) const = default;
  };
  struct Ready {
    ClientId client = 0;
    Status status = Status::Ok;
    std::optional<Place> place;  ///< the answer is the value stored there
  };

  [[nodiscard]] Next handle(ClientId client, Request request);
  [[nodiscard]] Next get(ClientId client, Place place);
  [[nodiscard]] Status put(const Place& place, std::string value);
  void remove(const Place& place);
  void forget(const std::string& scope);
  void release(const Place& place);
  void stop_waiting(ClientId client);
  [[nodiscard]] const std::string* find(const Place& place) const;

  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::map<std::string, KeyScope> scopes_;
  std::map<ClientId, std::unique_ptr<RequestReader>> readers_;
  std::map<ClientId, Place> waiting_;
  std::map<Place, std::set<ClientId>> awaited_;
  std::deque<Ready> ready_;
};

}  // namespace muster::horovod
