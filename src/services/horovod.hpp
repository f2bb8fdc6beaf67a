#pragma once

// A request of Horovod's store as HTTP has it, and its answer. Pure, and private to service/.

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
#include <vector>

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

// What Horovod's ranks tell each other through the store, and who waits for what. Pure, and private to service/.

/// What a client is to be sent.
struct Reply {
  ClientId client = 0;
  std::string bytes;
};

/// The members of a scope ("global", "local_<host>", "cross_<local rank>") put their addresses under their ranks,
/// read those of all others, and delete their own when they are connected. A scope is forgotten when all who came
/// have done so.
///
/// They ask for a rank every 10 ms until it is there. Here the answer to that waits for the rank, for a moment, so
/// that hundreds of them cost little.
class Store {
 public:
  enum class Next {
    Read,   ///< more of the client's bytes
    Reply,  ///< `take_reply` has it
    Hold    ///< the answer, which comes later
  };

  /// The most bytes that it keeps.
  static constexpr std::size_t kMostBytes = std::size_t{512} << 20U;

  explicit Store(std::size_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  [[nodiscard]] Next on_bytes(ClientId client, std::string_view bytes);
  /// A client has waited long enough, or is gone.
  void on_deferred(ClientId client);
  void on_closed(ClientId client);

  /// The next one, in the order in which they became known; empty: there is none.
  [[nodiscard]] std::optional<Reply> take_reply();

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct KeyScope {
    std::map<std::string, std::string> values;
    std::set<std::string> finished;  ///< ranks that have deleted theirs
  };
  struct Place {
    std::string scope;
    std::string key;
    // NOLINTNEXTLINE(modernize-use-nullptr): what the compiler writes has a zero
    auto operator<=>(const Place&) const = default;
  };
  struct Ready {
    ClientId client = 0;
    Status status = Status::Ok;
    std::optional<Place> place;  ///< its value is the answer
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
