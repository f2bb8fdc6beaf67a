// Implements Horovod's store and its service. Boost.Beast parses the HTTP; only this file includes it.
#include "services/horovod.hpp"

#include "services/services.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace muster::horovod {
namespace {

namespace http = boost::beast::http;

/// Largest body in bytes: a rank puts the addresses of all others there, about 140 bytes each.
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
                               slash + 1 < target.size() && target.find('/', slash + 1) == std::string::npos;
  if (!is_of_two_parts || target.size() > kMostName) {
    return Status::BadRequest;
  }
  return Request{*method, target.substr(1, slash - 1), target.substr(slash + 1), std::move(message.body())};
}

}  // namespace

struct RequestReader::Parser {
  http::request_parser<http::string_body> http;
  std::string pending;  ///< read, but too short for the parser's next step
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

/// The capitals of Content-Length matter: gloo's client accepts no other spelling.
std::string write_answer(Status status, std::string_view body) {
  const std::string words(http::obsolete_reason(static_cast<http::status>(status)));
  std::string answer = "HTTP/1.1 " + std::to_string(static_cast<int>(status)) + " " + words +
                       "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n";
  return answer.append(body);
}

// The values, and the clients that wait for them.

namespace {

/// Cost of a key beside its bytes, so that many small values are not free.
constexpr std::size_t kOverhead = 128;

/// A member's addresses stand under its rank. Clients ask once for other keys ("rank_3"), without waiting.
bool is_rank(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::size_t cost_of(std::string_view key, std::string_view value) {
  return key.size() + value.size() + kOverhead;
}

}  // namespace

Store::Next Store::on_bytes(ClientId client, std::string_view bytes) {
  auto& reader = readers_[client];
  if (!reader) {
    reader = std::make_unique<RequestReader>();
  }
  auto read = reader->feed(bytes);
  if (!read) {
    return Next::Read;
  }
  readers_.erase(client);
  if (const Status* const refused = std::get_if<Status>(&*read)) {
    ready_.push_back({client, *refused, std::nullopt});
    return Next::Reply;
  }
  return handle(client, std::get<Request>(std::move(*read)));
}

void Store::on_deferred(ClientId client) {
  if (waiting_.contains(client)) {
    stop_waiting(client);
    ready_.push_back({client, Status::NotFound, std::nullopt});
  }
}

void Store::on_closed(ClientId client) {
  readers_.erase(client);
  stop_waiting(client);
}

std::optional<Reply> Store::take_reply() {
  if (ready_.empty()) {
    return std::nullopt;
  }
  const Ready ready = std::move(ready_.front());
  ready_.pop_front();
  if (!ready.place) {
    return Reply{ready.client, write_answer(ready.status)};
  }
  const std::string* const value = find(*ready.place);
  return Reply{ready.client, value == nullptr ? write_answer(Status::NotFound) : write_answer(Status::Ok, *value)};
}

Store::Next Store::handle(ClientId client, Request request) {
  Place place{std::move(request.scope), std::move(request.key)};
  if (request.method == Method::Get) {
    return get(client, std::move(place));
  }
  Status status = Status::Ok;
  if (request.method == Method::Put) {
    status = put(place, std::move(request.body));
  } else {
    remove(place);
  }
  ready_.push_back({client, status, std::nullopt});
  if (request.method == Method::Put && status == Status::Ok) {
    release(place);
  }
  return Next::Reply;
}

Store::Next Store::get(ClientId client, Place place) {
  if (find(place) == nullptr && is_rank(place.key)) {
    awaited_[place].insert(client);
    waiting_.emplace(client, std::move(place));
    return Next::Hold;
  }
  ready_.push_back({client, Status::Ok, std::move(place)});
  return Next::Reply;
}

Status Store::put(const Place& place, std::string value) {
  const std::string* const old = find(place);
  const std::size_t freed = old == nullptr ? 0 : cost_of(place.key, *old);
  const std::size_t wanted = cost_of(place.key, value);
  if (bytes_ - freed + wanted > most_bytes_) {
    return Status::Full;
  }
  bytes_ = bytes_ - freed + wanted;
  scopes_[place.scope].values[place.key] = std::move(value);
  return Status::Ok;
}

/// A DELETE of a rank marks that member as finished; any other key is removed.
void Store::remove(const Place& place) {
  const auto at = scopes_.find(place.scope);
  if (at == scopes_.end() || !at->second.values.contains(place.key)) {
    return;
  }
  KeyScope& scope = at->second;
  if (!is_rank(place.key)) {
    bytes_ -= cost_of(place.key, scope.values.at(place.key));
    scope.values.erase(place.key);
    if (scope.values.empty()) {
      scopes_.erase(at);
    }
    return;
  }
  scope.finished.insert(place.key);
  const auto members =
      std::count_if(scope.values.begin(), scope.values.end(), [](const auto& one) { return is_rank(one.first); });
  if (scope.finished.size() == static_cast<std::size_t>(members)) {
    forget(place.scope);
  }
}

void Store::forget(const std::string& scope) {
  for (const auto& [key, value] : scopes_.at(scope).values) {
    bytes_ -= cost_of(key, value);
  }
  scopes_.erase(scope);
}

/// Answers the clients that wait for this key.
void Store::release(const Place& place) {
  const auto at = awaited_.find(place);
  if (at == awaited_.end()) {
    return;
  }
  for (const ClientId client : at->second) {
    waiting_.erase(client);
    ready_.push_back({client, Status::Ok, place});
  }
  awaited_.erase(at);
}

void Store::stop_waiting(ClientId client) {
  const auto at = waiting_.find(client);
  if (at == waiting_.end()) {
    return;
  }
  const auto others = awaited_.find(at->second);
  others->second.erase(client);
  if (others->second.empty()) {
    awaited_.erase(others);
  }
  waiting_.erase(at);
}

const std::string* Store::find(const Place& place) const {
  const auto scope = scopes_.find(place.scope);
  if (scope == scopes_.end()) {
    return nullptr;
  }
  const auto value = scope->second.values.find(place.key);
  return value == scope->second.values.end() ? nullptr : &value->second;
}

}  // namespace muster::horovod

namespace muster {

// The service: the leader listens before any worker starts, and all nodes are told the port.

namespace {

class HorovodStoreService final : public Service {
 public:
  explicit HorovodStoreService(ServiceInput input) : input_(std::move(input)) {}

  Result<> prepare(AttemptPorts& offer) override {
    ServerEvents events;
    events.on_bytes = [this](ClientId client, std::string_view bytes) {
      if (store_.on_bytes(client, bytes) == horovod::Store::Next::Hold) {
        server_->defer(client);
      }
      answer();
    };
    events.on_deferred = [this](ClientId client) {
      store_.on_deferred(client);
      answer();
    };
    events.on_closed = [this](ClientId client) { store_.on_closed(client); };
    auto server = input_.start_server(std::move(events));
    if (!server) {
      return server.error();
    }
    server_ = std::move(*server);
    offer.store_port = server_->port();
    return {};
  }

  Result<std::optional<PlanAdditions>> start(const LaunchPlan& plan) override {
    if (server_ && (plan.nodes == 1 || !plan.notified_nodes.empty())) {
      std::vector<std::string> addresses;
      addresses.reserve(plan.notified_nodes.size());
      for (const NodePorts& node : plan.notified_nodes) {
        addresses.push_back(node.host);
      }
      server_->admit_only(std::move(addresses));
    }
    return std::optional(PlanAdditions{});
  }

  void stop() override { server_.reset(); }

 private:
  /// Sends a few answers per turn of the event loop: hundreds of clients may have waited for the same value.
  void answer() {
    constexpr int kInOneTurn = 16;
    int answered = 0;
    while (answered < kInOneTurn && answer_one()) {
      ++answered;
    }
    if (answered == kInOneTurn && !std::exchange(goes_on_, true)) {
      do_later(input_, [this] { go_on(); });
    }
  }

  /// False: there is no answer to send.
  bool answer_one() {
    auto reply = store_.take_reply();
    if (reply) {
      server_->answer(reply->client, std::move(reply->bytes));
    }
    return reply.has_value();
  }

  void go_on() {
    goes_on_ = false;
    if (server_) {
      answer();
    }
  }

  ServiceInput input_;
  horovod::Store store_;
  std::unique_ptr<Server> server_;
  bool goes_on_ = false;
};

}  // namespace

std::unique_ptr<Service> make_horovod_store(const ServiceInput& input) {
  return std::make_unique<HorovodStoreService>(input);
}

}  // namespace muster
