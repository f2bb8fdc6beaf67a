// Parts are gathered, and handed out as pieces: see the header.
#include "services/torch_store/answers.hpp"

#include <algorithm>
#include <utility>

namespace muster::store {
namespace {

/// The longest piece: who reads slowly keeps no more of a large value.
constexpr std::size_t kPiece = std::size_t{64} << 10U;
/// Where thousands read slowly, it is a short one.
constexpr std::size_t kShortPiece = std::size_t{4} << 10U;
constexpr std::size_t kMuchInPieces = std::size_t{64} << 20U;
/// Up to here a copy costs less than keeping the value as it was.
constexpr std::size_t kSmallValue = std::size_t{4} << 10U;

}  // namespace

Result<> Answers::may_add(ClientId client, std::size_t bytes) const {
  const auto at = unsent_.find(client);
  const std::size_t unread =
      bytes + (at == unsent_.end() ? 0 : at->second.bytes + at->second.writing);
  if (unread > most_unread_) {
    return Error{ErrorKind::BadData,
                 "it asked for '" + std::to_string(unread) +
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
    const std::string& text = std::holds_alternative<SharedValue>(part)
                                  ? *std::get<SharedValue>(part)
                                  : std::get<std::string>(part);
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

}  // namespace muster::store
