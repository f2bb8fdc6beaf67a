// What an agent contributes, and what it gets: see the header.
#include "gang/protocol/contributions.hpp"

#include <algorithm>
#include <utility>

namespace muster::gang {
namespace {

std::vector<Contribute> to_messages(Value value) {
  std::vector<Contribute> messages;
  for (Chunk& chunk : split(std::move(value))) {
    messages.push_back({std::move(chunk)});
  }
  return messages;
}

}  // namespace

const ExchangeKey* ExchangeClient::find_key(const std::string& name) const {
  const auto at = std::find_if(
      keys_.begin(), keys_.end(), [&](const ExchangeKey& key) { return key.name == name; });
  return at == keys_.end() ? nullptr : &*at;
}

std::string ExchangeClient::objection(const std::string& key, std::size_t size) const {
  const ExchangeKey* const known = find_key(key);
  if (known == nullptr) {
    return "cannot contribute '" + key + "': no node of this job does";
  }
  if (size > known->most_of_node) {
    return "cannot contribute '" + key + "': it is " + std::to_string(size) +
           " bytes long, and a node may contribute " + std::to_string(known->most_of_node);
  }
  return {};
}

bool ExchangeClient::is_before_start(const std::string& key) const {
  const ExchangeKey* const known = find_key(key);
  return known != nullptr && known->phase == Phase::BeforeStart;
}

std::vector<Contribute> ExchangeClient::keep(const std::string& key, const std::string& bytes) {
  const auto [at, is_new] = before_start_.try_emplace(key, bytes);
  if (!is_new && at->second == bytes) {
    return {};
  }
  at->second = bytes;
  return to_messages({{key, 0, std::nullopt, {}}, bytes});
}

std::vector<std::string> ExchangeClient::names() const {
  std::vector<std::string> names;
  for (const auto& [key, bytes] : before_start_) {
    names.push_back(key);
  }
  return names;
}

std::vector<Contribute> ExchangeClient::introduce() {
  assembler_.drop();
  merged_.clear();
  std::vector<Contribute> messages;
  for (const auto& [key, bytes] : before_start_) {
    std::ranges::move(to_messages({{key, 0, std::nullopt, {}}, bytes}),
                      std::back_inserter(messages));
  }
  return messages;
}

std::vector<Contribute> ExchangeClient::contribute(const std::string& key,
                                                   std::string bytes,
                                                   std::vector<NodeRank> nodes) {
  const int round = rounds_[{key, nodes}]++;
  return to_messages({{key, attempt_, round, std::move(nodes)}, std::move(bytes)});
}

Result<std::optional<Value>> ExchangeClient::take(const Merged& merged) {
  const ExchangeKey* const key = find_key(merged.chunk.id.key);
  if (key == nullptr) {
    return Error{ErrorKind::BadData,
                 "sent '" + merged.chunk.id.key + "', which nobody of this job exchanges"};
  }
  auto value = assembler_.take(merged.chunk, key->most_merged);
  if (!value || !*value) {
    return value;
  }
  const ValueId& id = (*value)->id;
  if (id.round) {
    return id.attempt == attempt_ ? std::move(*value) : std::optional<Value>();
  }
  if (id.attempt != merged_for_) {
    merged_.clear();
    merged_for_ = id.attempt;
  }
  merged_[id.key] = std::move((*value)->bytes);
  return std::optional<Value>();
}

Exchanged ExchangeClient::start(int attempt) {
  attempt_ = attempt;
  rounds_.clear();
  Exchanged merged = std::exchange(merged_, {});
  return merged_for_ == attempt ? merged : Exchanged();
}

}  // namespace muster::gang
