// Implements the store: its clients, the queue of their answers, and the choice of connections to close.
#include "services/torch_store/store.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace muster::store {
namespace {

/// Each rank adds to this key first. Users' keys begin with "/".
constexpr std::string_view kArrivalKey = "init/";

/// Beginning of the message about a closed connection.
std::string closed(const Process& process) {
  return "closed the store's connection to " + describe(process) + ": ";
}

}  // namespace

std::string describe(const Process& process) {
  return process.address + (process.pid ? ", pid " + std::to_string(*process.pid) : "");
}

Store::Store(std::size_t workers, const Limits& limits)
    : limits_(limits),
      most_connections_((workers + 1) * limits.connections_per_worker),
      data_(limits.data),
      generations_(workers, data_),
      answers_(limits.unread) {}

void Store::on_opened(ClientId client, std::string address) {
  connections_.emplace(client, Connection{{std::move(address)}, RequestReader(limits_, dialect_without_greeting_)});
}

Result<> Store::on_bytes(ClientId client, std::string_view bytes) {
  Connection& connection = connections_.at(client);
  if (connection.refusal) {
    return *connection.refusal;
  }
  return refuse_if_wrong(connection, read(client, connection, bytes));
}

Result<> Store::on_silence(ClientId client) {
  Connection& connection = connections_.at(client);
  auto request = connection.reader.on_silence();
  return request ? refuse_if_wrong(connection, act(client, connection, std::move(*request))) : Result<>();
}

Result<> Store::read(ClientId client, Connection& connection, std::string_view bytes) {
  while (true) {
    auto request = TRY(connection.reader.next(bytes));
    if (!request) {
      count_unfinished(connection);
      return {};
    }
    TRY(act(client, connection, std::move(*request)));
  }
}

Result<> Store::act(ClientId client, Connection& connection, Request request) {
  if (request.operation == Operation::WatchKey) {
    return Error{ErrorKind::BadData, "it watches the key '" + one_line(request.texts.front(), kLongestShown) +
                                         "', expected what clients of torch 2.1 and later do as well"};
  }
  if (request.operation == Operation::Ping) {
    const auto nonce = static_cast<std::uint32_t>(request.number);
    if (connection.generation == nullptr) {
      connection.process.pid = nonce;
    }
    TRY(answers_.may_add(client, sizeof nonce));
    answers_.add_number(client, nonce);
    return {};
  }
  if (connection.generation == nullptr) {
    const bool is_rank =
        request.operation == Operation::Add && request.texts.front() == kArrivalKey && request.number > 0;
    connection.generation = &generations_.join(connection.process, is_rank);
    if (is_rank) {
      connection.reader.settle_for_all();
    }
  }
  return KeyActions(client, *connection.generation, answers_).run(request);
}

void Store::count_unfinished(Connection& connection) {
  unfinished_ += connection.reader.held();
  unfinished_ -= std::exchange(connection.held, connection.reader.held());
}

std::optional<ClosedClients> Store::clients_to_close() const {
  if (connections_.size() > most_connections_) {
    const auto most = most_connected_client();
    return most ? most : newest();
  }
  if (unfinished_ > limits_.unfinished) {
    return least_complete();
  }
  if (answers_.bytes() > limits_.unread_of_all) {
    return slowest_reader();
  }
  return std::nullopt;
}

std::optional<ClosedClients> Store::most_connected_client() const {
  std::vector<ClientMemory> all;
  all.reserve(connections_.size());
  for (const auto& [client, connection] : connections_) {
    all.push_back({client, connection.process, connection.generation != nullptr});
  }
  LargestHolder holder = largest_holder(all, limits_.connections_per_worker);
  if (holder.to_close.empty()) {
    return std::nullopt;
  }
  return ClosedClients{
      std::move(holder.to_close),
      {ErrorKind::Incomplete, closed(holder.process) + "of all processes it has the most, '" +
                                  std::to_string(holder.connections) + "', expected at most " +
                                  std::to_string(limits_.connections_per_worker) + " while others need one"}};
}

ClosedClients Store::newest() const {
  const auto& [client, connection] = *connections_.rbegin();
  return {{client},
          {ErrorKind::Incomplete, closed(connection.process) + "there are '" + std::to_string(connections_.size() - 1) +
                                      "' already, expected at most " + std::to_string(most_connections_)}};
}

ClosedClients Store::least_complete() const {
  const auto& [client, connection] =
      *std::max_element(connections_.begin(), connections_.end(),
                        [](const auto& one, const auto& other) { return one.second.held < other.second.held; });
  return {{client},
          {ErrorKind::Incomplete, closed(connection.process) + "of '" + std::to_string(unfinished_) +
                                      "' bytes of unfinished requests it has sent the most, expected at most " +
                                      std::to_string(limits_.unfinished) + " of all clients"}};
}

ClosedClients Store::slowest_reader() const {
  const auto largest = answers_.largest();
  return {{largest.client},
          {ErrorKind::Incomplete, closed(connections_.at(largest.client).process) + "of '" +
                                      std::to_string(answers_.bytes()) +
                                      "' bytes of unread answers it has the most, expected at most " +
                                      std::to_string(limits_.unread_of_all) + " of all clients"}};
}

Result<> Store::refuse_if_wrong(Connection& connection, Result<> done) {
  if (!done) {
    connection.refusal = Error{done.error().kind, closed(connection.process) + done.error().message};
    return *connection.refusal;
  }
  return done;
}

void Store::on_closed(ClientId client) {
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

bool Store::awaits_silence(ClientId client) const {
  const auto at = connections_.find(client);
  return at != connections_.end() && !at->second.refusal && at->second.reader.awaits_silence();
}

std::vector<WaitingClient> Store::waiting(std::size_t most_keys) const {
  std::vector<WaitingClient> all;
  for (const auto& [client, connection] : connections_) {
    const Waits* const waits = connection.generation == nullptr ? nullptr : &connection.generation->waits;
    const std::size_t missing = waits == nullptr ? 0 : waits->count_missing(client);
    if (missing > 0) {
      all.push_back({client, connection.process, waits->missing(client, most_keys), missing});
    }
  }
  return all;
}

// Gathers parts and hands them out as pieces.

namespace {

/// Longest piece: a client that reads slowly holds no more of a large value.
constexpr std::size_t kPiece = std::size_t{64} << 10U;
/// Longest piece while all pieces together exceed `kMuchInPieces`, as when thousands read slowly.
constexpr std::size_t kShortPiece = std::size_t{4} << 10U;
constexpr std::size_t kMuchInPieces = std::size_t{64} << 20U;
/// Values up to this size are copied, which costs less than sharing them.
constexpr std::size_t kSmallValue = std::size_t{4} << 10U;

}  // namespace

Result<> Answers::may_add(ClientId client, std::size_t bytes) const {
  const auto at = unsent_.find(client);
  const std::size_t unread = bytes + (at == unsent_.end() ? 0 : at->second.bytes + at->second.writing);
  if (unread > most_unread_) {
    return Error{ErrorKind::BadData, "it asked for '" + std::to_string(unread) +
                                         "' bytes that it has not read, expected at most " +
                                         std::to_string(most_unread_)};
  }
  return {};
}

void Answers::add(ClientId client, std::string_view bytes) {
  if (bytes.empty()) {
    return;
  }
  auto& parts = open(client, bytes.size()).parts;
  if (parts.empty() || !std::holds_alternative<std::string>(parts.back())) {
    parts.emplace_back(std::string());
  }
  std::get<std::string>(parts.back()).append(bytes);
  kept_ += bytes.size();
}

void Answers::add_value(ClientId client, SharedValue value) {
  if (value->size() <= kSmallValue) {
    add(client, *value);
    return;
  }
  kept_ += ++shared_[value.get()] == 1 ? value->size() : 0;
  open(client, value->size()).parts.emplace_back(std::move(value));
}

Answers::Unsent& Answers::open(ClientId client, std::size_t bytes) {
  const auto [at, is_new] = unsent_.try_emplace(client);
  if (is_new) {
    turns_.push_back(client);
  }
  at->second.bytes += bytes;
  return at->second;
}

std::optional<Answer> Answers::next() {
  while (!turns_.empty()) {
    const ClientId client = turns_.front();
    turns_.pop_front();
    const auto at = unsent_.find(client);
    if (at != unsent_.end()) {
      return Answer{client, take_piece(at->second)};
    }
  }
  return std::nullopt;
}

void Answers::on_written(ClientId client) {
  const auto at = unsent_.find(client);
  if (at == unsent_.end()) {
    return;
  }
  writing_ -= std::exchange(at->second.writing, 0);
  if (at->second.bytes == 0) {
    unsent_.erase(at);
  } else {
    turns_.push_back(client);
  }
}

void Answers::forget(ClientId client) {
  const auto at = unsent_.find(client);
  if (at != unsent_.end()) {
    for (const Part& part : at->second.parts) {
      release(part);
    }
    writing_ -= at->second.writing;
    unsent_.erase(at);
  }
}

void Answers::release(const Part& part) {
  if (const auto* const text = std::get_if<std::string>(&part)) {
    kept_ -= text->size();
    return;
  }
  const auto at = shared_.find(std::get<SharedValue>(part).get());
  if (--at->second == 0) {
    kept_ -= at->first->size();
    shared_.erase(at);
  }
}

Answers::Largest Answers::largest() const {
  Largest largest;
  for (const auto& [client, unsent] : unsent_) {
    const std::size_t bytes = unsent.bytes + unsent.writing;
    largest = bytes > largest.bytes ? Largest{client, bytes} : largest;
  }
  return largest;
}

std::string Answers::take_piece(Unsent& unsent) {
  const std::size_t most = writing_ < kMuchInPieces ? kPiece : kShortPiece;
  std::string piece;
  piece.reserve(std::min(unsent.bytes, most));
  while (!unsent.parts.empty() && piece.size() < most) {
    const Part& part = unsent.parts.front();
    const std::string& text =
        std::holds_alternative<SharedValue>(part) ? *std::get<SharedValue>(part) : std::get<std::string>(part);
    const std::size_t count = std::min(most - piece.size(), text.size() - unsent.begin);
    piece.append(text, unsent.begin, count);
    unsent.begin += count;
    if (unsent.begin == text.size()) {
      release(part);
      unsent.parts.pop_front();
      unsent.begin = 0;
    }
  }
  unsent.bytes -= piece.size();
  unsent.writing = piece.size();
  writing_ += piece.size();
  return piece;
}

// Chooses by process, and then by what its connections have asked.

namespace {

/// Connections of one process, the oldest first.
struct Held {
  std::vector<ClientId> all;
  std::vector<ClientId> silent;  ///< have asked for nothing
};

std::map<Process, Held> by_process(const std::vector<ClientMemory>& connections) {
  std::map<Process, Held> processes;
  for (const ClientMemory& one : connections) {
    Held& held = processes[one.process];
    held.all.push_back(one.client);
    if (!one.has_asked) {
      held.silent.push_back(one.client);
    }
  }
  for (auto& [process, held] : processes) {
    std::sort(held.all.begin(), held.all.end());
    std::sort(held.silent.begin(), held.silent.end());
  }
  return processes;
}

/// `count` clients from the middle of the list.
std::vector<ClientId> middle_of(const std::vector<ClientId>& clients, std::size_t count) {
  const auto begin = clients.begin() + static_cast<std::ptrdiff_t>((clients.size() - count) / 2);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

std::vector<ClientId> newest_of(const std::vector<ClientId>& clients, std::size_t count) {
  return {clients.end() - static_cast<std::ptrdiff_t>(count), clients.end()};
}

std::size_t half_of(const std::vector<ClientId>& clients) {
  return (clients.size() + 1) / 2;
}

}  // namespace

LargestHolder largest_holder(const std::vector<ClientMemory>& connections, std::size_t share) {
  const auto processes = by_process(connections);
  const auto largest = std::max_element(processes.begin(), processes.end(), [](const auto& one, const auto& other) {
    return one.second.all.size() < other.second.all.size();
  });
  if (largest == processes.end()) {
    return {};
  }
  const auto& [all, silent] = largest->second;
  LargestHolder holder{largest->first, all.size(), {}};
  if (all.size() > share) {
    const std::size_t beyond = all.size() - share;
    holder.to_close = silent.empty() ? newest_of(all, std::min(beyond, half_of(all)))
                                     : middle_of(silent, std::min(beyond, half_of(silent)));
  }
  return holder;
}

}  // namespace muster::store
