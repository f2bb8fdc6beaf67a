// Scopes, keys, and those who wait for one: see the header.
#include "services/store.hpp"

#include <algorithm>
#include <utility>

namespace muster::horovod {
namespace {

/// What a name costs beside its bytes, so that many small values are not free.
constexpr std::size_t kOverhead = 128;

/// A member's addresses stand under its rank. Other keys ("rank_3") are asked for once, and are not waited for.
bool is_rank(std::string_view key) {
  return !key.empty() &&
         std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
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
  return Reply{
      ready.client,
      value == nullptr ? write_answer(Status::NotFound) : write_answer(Status::Ok, *value)};
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

/// A member's "I am done" is counted; what others have put is removed.
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
  const auto members = std::count_if(
      scope.values.begin(), scope.values.end(), [](const auto& one) { return is_rank(one.first); });
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

/// Those who waited for it get it.
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
