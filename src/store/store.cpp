// The clients: who they are, what they send, and where they belong. What requests do is in key_actions.cpp.
#include "answers.hpp"
#include "budget.hpp"
#include "generations.hpp"
#include "key_actions.hpp"
#include "operation.hpp"
#include "request_reader.hpp"

#include <muster/base/text.hpp>
#include <muster/store/store.hpp>

#include <map>
#include <utility>
#include <variant>

namespace muster::store {
namespace {

/// Users' keys begin with "/". Each rank adds to this one first.
constexpr std::string_view kArrivalKey = "init/";
constexpr std::size_t kLongestShown = 60;

bool is_arrival(const KeyRequest& request) {
  const auto* const add = std::get_if<request::Add>(&request);
  return add != nullptr && add->key == kArrivalKey && add->amount > 0;
}

/// How a refusal begins.
std::string closed(const Process& process) {
  return "closed the store's connection to " + describe(process) + ": ";
}

}  // namespace

std::string describe(const Process& process) {
  return process.address + (process.pid ? ", pid " + std::to_string(*process.pid) : "");
}

class Store::Parts {
 public:
  Parts(std::size_t workers, const Limits& limits)
      : limits_(limits),
        most_connections_((workers + 1) * limits.connections_per_worker),
        data_(limits.data),
        generations_(workers, data_),
        answers_(limits.unread) {}

  [[nodiscard]] Result<> on_opened(ClientId client, std::string address);
  [[nodiscard]] Result<> on_bytes(ClientId client, std::string_view bytes);
  [[nodiscard]] Result<> on_silence(ClientId client);
  void on_closed(ClientId client);
  [[nodiscard]] bool awaits_silence(ClientId client) const;
  [[nodiscard]] std::vector<WaitingClient> waiting(std::size_t most_keys) const;
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

  [[nodiscard]] Answers& answers() { return answers_; }
  [[nodiscard]] const Generations& generations() const { return generations_; }
  [[nodiscard]] const Budget& data() const { return data_; }

 private:
  struct Connection {
    Process process;
    RequestReader reader;
    std::size_t held = 0;  ///< what is counted of its unfinished request
    Generation* generation = nullptr;
    std::optional<Error> refusal{};
  };
  struct Carry {
    Parts& parts;
    ClientId client;
    Connection& connection;
    [[nodiscard]] Result<> operator()(request::Ping& ping);
    [[nodiscard]] Result<> operator()(request::WatchKey& watch) const;
    [[nodiscard]] Result<> operator()(KeyRequest& request);
  };

  [[nodiscard]] Result<> read(ClientId client, Connection& connection, std::string_view bytes);
  [[nodiscard]] Result<> act(ClientId client, Connection& connection, Request request);
  [[nodiscard]] Result<> count_unfinished(Connection& connection);
  [[nodiscard]] static Result<> refuse_if_wrong(Connection& connection, Result<> done);

  Limits limits_;
  std::size_t most_connections_;
  Budget data_;
  std::size_t unfinished_ = 0;
  Ungreeted ungreeted_;
  Generations generations_;
  Answers answers_;
  std::map<ClientId, Connection> connections_;
};

Result<> Store::Parts::on_opened(ClientId client, std::string address) {
  if (connections_.size() >= most_connections_) {
    return Error{ErrorKind::Incomplete,
                 closed(Process{std::move(address)}) + "there are '" +
                     std::to_string(connections_.size()) + "' already, expected at most " +
                     std::to_string(most_connections_)};
  }
  connections_.emplace(client,
                       Connection{{std::move(address)}, RequestReader(limits_, ungreeted_)});
  return {};
}

Result<> Store::Parts::on_bytes(ClientId client, std::string_view bytes) {
  Connection& connection = connections_.at(client);
  if (connection.refusal) {
    return *connection.refusal;
  }
  return refuse_if_wrong(connection, read(client, connection, bytes));
}

Result<> Store::Parts::on_silence(ClientId client) {
  Connection& connection = connections_.at(client);
  auto request = connection.reader.on_silence();
  return request ? refuse_if_wrong(connection, act(client, connection, std::move(*request)))
                 : Result<>();
}

Result<> Store::Parts::read(ClientId client, Connection& connection, std::string_view bytes) {
  while (true) {
    auto request = connection.reader.next(bytes);
    if (!request) {
      return request.error();
    }
    if (!*request) {
      return count_unfinished(connection);
    }
    if (auto done = act(client, connection, std::move(**request)); !done) {
      return done;
    }
  }
}

Result<> Store::Parts::act(ClientId client, Connection& connection, Request request) {
  return std::visit(Carry{*this, client, connection}, request);
}

Result<> Store::Parts::Carry::operator()(request::Ping& ping) {
  if (connection.generation == nullptr) {
    connection.process.pid = ping.nonce;
  }
  auto may = parts.answers_.may_add(client, sizeof ping.nonce);
  if (may) {
    parts.answers_.add_number(client, ping.nonce);
  }
  return may;
}

Result<> Store::Parts::Carry::operator()(request::WatchKey& watch) const {
  return Error{ErrorKind::BadData,
               "it watches the key '" + one_line(watch.key, kLongestShown) +
                   "', expected what clients of torch 2.1 and later do as well"};
}

Result<> Store::Parts::Carry::operator()(KeyRequest& request) {
  if (connection.generation == nullptr) {
    connection.generation = &parts.generations_.join(connection.process, is_arrival(request));
  }
  return std::visit(KeyActions(client, *connection.generation, parts.answers_), request);
}

/// One read may be over the limit, until it is counted.
Result<> Store::Parts::count_unfinished(Connection& connection) {
  unfinished_ += connection.reader.held();
  unfinished_ -= std::exchange(connection.held, connection.reader.held());
  if (unfinished_ > limits_.unfinished) {
    return Error{ErrorKind::Incomplete,
                 "all clients have sent '" + std::to_string(unfinished_) +
                     "' bytes of requests that are not whole, expected at most " +
                     std::to_string(limits_.unfinished)};
  }
  return {};
}

Result<> Store::Parts::refuse_if_wrong(Connection& connection, Result<> done) {
  if (!done) {
    connection.refusal =
        Error{done.error().kind, closed(connection.process) + done.error().message};
    return *connection.refusal;
  }
  return done;
}

void Store::Parts::on_closed(ClientId client) {
  const auto at = connections_.find(client);
  if (at == connections_.end()) {
    return;
  }
  Connection& connection = at->second;
  answers_.forget(client);
  unfinished_ -= connection.held;
  if (connection.generation != nullptr) {
    connection.generation->waits.end(client);
    generations_.leave(*connection.generation, connection.process);
  }
  connections_.erase(at);
}

bool Store::Parts::awaits_silence(ClientId client) const {
  const auto at = connections_.find(client);
  return at != connections_.end() && !at->second.refusal && at->second.reader.awaits_silence();
}

std::vector<WaitingClient> Store::Parts::waiting(std::size_t most_keys) const {
  std::vector<WaitingClient> all;
  for (const auto& [client, connection] : connections_) {
    const Waits* const waits =
        connection.generation == nullptr ? nullptr : &connection.generation->waits;
    const std::size_t missing = waits == nullptr ? 0 : waits->count_missing(client);
    if (missing > 0) {
      all.push_back({client, connection.process, waits->missing(client, most_keys), missing});
    }
  }
  return all;
}

Store::Store(std::size_t workers, const Limits& limits)
    : parts_(std::make_unique<Parts>(workers, limits)) {}

Store::~Store() = default;

Result<> Store::on_opened(ClientId client, std::string address) {
  return parts_->on_opened(client, std::move(address));
}

Result<> Store::on_bytes(ClientId client, std::string_view bytes) {
  return parts_->on_bytes(client, bytes);
}

void Store::on_closed(ClientId client) {
  parts_->on_closed(client);
}

bool Store::awaits_silence(ClientId client) const {
  return parts_->awaits_silence(client);
}

Result<> Store::on_silence(ClientId client) {
  return parts_->on_silence(client);
}

std::optional<Answer> Store::next_answer() {
  return parts_->answers().next();
}

void Store::on_written(ClientId client) {
  parts_->answers().on_written(client);
}

Arrivals Store::arrivals() const {
  return parts_->generations().arrivals();
}

Meeting Store::meeting() const {
  return parts_->generations().meeting();
}

std::vector<WaitingClient> Store::waiting(std::size_t most_keys) const {
  return parts_->waiting(most_keys);
}

std::size_t Store::connections() const {
  return parts_->connections();
}

std::size_t Store::bytes() const {
  return parts_->data().spent();
}

}  // namespace muster::store
