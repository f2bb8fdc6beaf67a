// Splits values into chunks, and implements both sides of the exchange: agents contribute, the leader merges and
// distributes.
#include "gang/protocol/exchange.hpp"

#include "base/encoding.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cstdint>

namespace muster::gang {

// Splitting values into chunks and joining them.

namespace {

/// Size from which values are compressed: smaller ones are not worth the leader's time.
constexpr std::size_t kLarge = std::size_t{16} << 10U;

}  // namespace

std::vector<Chunk> split(Value value) {
  std::string travels;
  const std::size_t size = value.bytes.size();
  if (size >= kLarge) {
    travels = compress(value.bytes);
  }
  if (travels.empty() || travels.size() >= size) {
    travels = std::move(value.bytes);
  }
  std::vector<Chunk> chunks;
  std::size_t offset = 0;
  do {
    Chunk& chunk = chunks.emplace_back();
    chunk.id = value.id;
    chunk.size = size;
    chunk.compressed_size = travels.size();
    chunk.offset = offset;
    chunk.bytes = travels.substr(offset, kMostPieceBytes);
    offset += chunk.bytes.size();
    value.id.nodes.clear();
  } while (offset < travels.size());
  return chunks;
}

/// Returns what is wrong with a chunk; empty: nothing.
std::string Assembler::objection(const Chunk& chunk, std::size_t most) const {
  if (chunk.size > most) {
    return "sent " + std::to_string(chunk.size) + " bytes under '" + chunk.id.key + "', expected at most " +
           std::to_string(most);
  }
  if (chunk.compressed_size > chunk.size ||
      chunk.bytes.size() > chunk.compressed_size - std::min(chunk.offset, chunk.compressed_size) ||
      (chunk.bytes.empty() && chunk.compressed_size > 0)) {
    return "sent a piece under '" + chunk.id.key + "' that does not fit its value";
  }
  if (chunk.offset == 0) {
    return open_ ? "sent '" + chunk.id.key + "' before the end of '" + open_->id.key + "'" : "";
  }
  const bool follows = open_ && open_->id.key == chunk.id.key && open_->id.attempt == chunk.id.attempt &&
                       open_->id.round == chunk.id.round && open_->size == chunk.size &&
                       open_->compressed_size == chunk.compressed_size && open_->bytes.size() == chunk.offset &&
                       chunk.id.nodes.empty();
  return follows ? "" : "sent a piece under '" + chunk.id.key + "' that does not follow the one before";
}

Result<std::optional<Value>> Assembler::take(Chunk chunk, std::size_t most) {
  if (std::string wrong = objection(chunk, most); !wrong.empty()) {
    return Error{ErrorKind::BadData, std::move(wrong)};
  }
  if (open_) {
    open_->bytes += chunk.bytes;
  } else {
    open_ = std::move(chunk);
  }
  if (open_->bytes.size() < open_->compressed_size) {
    return std::optional<Value>();
  }
  const Chunk whole = std::move(*std::exchange(open_, std::nullopt));
  if (whole.compressed_size == whole.size) {
    return std::optional(Value{whole.id, whole.bytes});
  }
  auto bytes = decompress(whole.bytes, whole.size);
  if (!bytes) {
    return Error{ErrorKind::BadData, "sent a value under '" + whole.id.key + "' that " + bytes.error().message};
  }
  return std::optional(Value{whole.id, std::move(*bytes)});
}

// An agent's side of the exchange.

namespace {

template <typename Message>
std::vector<Message> to_messages(Value value) {
  std::vector<Message> messages;
  for (Chunk& chunk : split(std::move(value))) {
    messages.push_back({std::move(chunk)});
  }
  return messages;
}

/// Finds a key; null: no key has this name.
const ExchangeKey* find_key(const ExchangeKeys& keys, const std::string& name) {
  const auto at = std::ranges::find(keys, name, &ExchangeKey::name);
  return at == keys.end() ? nullptr : &*at;
}

}  // namespace

std::string ExchangeClient::objection(const std::string& key, std::size_t size) const {
  const ExchangeKey* const known = find_key(keys_, key);
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
  const ExchangeKey* const known = find_key(keys_, key);
  return known != nullptr && known->phase == Phase::BeforeStart;
}

std::vector<Contribute> ExchangeClient::keep(const std::string& key, const std::string& bytes) {
  const auto [at, is_new] = before_start_.try_emplace(key, bytes);
  if (!is_new && at->second == bytes) {
    return {};
  }
  at->second = bytes;
  return to_messages<Contribute>({{key, 0, std::nullopt, {}}, bytes});
}

std::vector<std::string> ExchangeClient::names() const {
  return mapped(before_start_, [](const auto& value) { return value.first; });
}

std::vector<Contribute> ExchangeClient::introduce() {
  assembler_.drop();
  merged_.clear();
  std::vector<Contribute> messages;
  for (const auto& [key, bytes] : before_start_) {
    std::ranges::move(to_messages<Contribute>({{key, 0, std::nullopt, {}}, bytes}), std::back_inserter(messages));
  }
  return messages;
}

std::vector<Contribute> ExchangeClient::contribute(const std::string& key, std::string bytes,
                                                   std::vector<NodeRank> nodes) {
  const int round = rounds_[{key, nodes}]++;
  return to_messages<Contribute>({{key, attempt_, round, std::move(nodes)}, std::move(bytes)});
}

Result<std::optional<Value>> ExchangeClient::take(const Merged& merged) {
  const ExchangeKey* const key = find_key(keys_, merged.chunk.id.key);
  if (key == nullptr) {
    return Error{ErrorKind::BadData, "sent '" + merged.chunk.id.key + "', which nobody of this job exchanges"};
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

namespace {

/// Memory of a round beside its parts and the list of its nodes.
constexpr std::size_t kRoundBytes = 512;

std::size_t bytes_of(const std::vector<NodeRank>& nodes) {
  return kRoundBytes + nodes.size() * sizeof(NodeRank);
}

}  // namespace

// --- Contributors -------------------------------------------------------------------------------

void ExchangeServer::add(LinkId link, const std::vector<std::string>& promised) {
  Contributor& contributor = contributors_[link];
  contributor.promised.insert(promised.begin(), promised.end());
}

ExchangeOutcomes ExchangeServer::forget(LinkId link) {
  const auto at = contributors_.find(link);
  if (at == contributors_.end()) {
    return {};
  }
  drop_open(at->second);
  for (const auto& [key, bytes] : at->second.before_start) {
    held_ -= bytes.size();
  }
  const std::optional<NodeRank> rank = at->second.rank;
  contributors_.erase(at);
  ExchangeOutcomes outcomes;
  if (!rank) {
    return outcomes;
  }
  present_.erase(*rank);
  for (auto& [group, round] : rounds_) {
    const auto& listed = group.second;
    if (!listed.empty() && !std::binary_search(listed.begin(), listed.end(), *rank)) {
      continue;
    }
    --round.expected;
    if (const auto part = round.parts.find(*rank); part != round.parts.end()) {
      held_ -= part->second.size();
      round.parts.erase(part);
    }
    if (!round.parts.empty() && round.parts.size() == round.expected) {
      std::ranges::move(finish(group, round), std::back_inserter(outcomes));
    }
  }
  return outcomes;
}

std::string ExchangeServer::missing(LinkId link) const {
  const auto at = contributors_.find(link);
  if (at == contributors_.end()) {
    return {};
  }
  std::vector<std::string> names;
  const auto& open = at->second.assembler.open();
  std::set<std::string> keys = at->second.promised;
  if (open && !open->id.round) {
    keys.insert(open->id.key);
  }
  for (const std::string& key : keys) {
    if (!at->second.before_start.contains(key) || (open && open->id.key == key)) {
      names.push_back("'" + key + "'");
    }
  }
  return join(names, ", ");
}

// --- Contributions ------------------------------------------------------------------------------

/// True for a value of an attempt that is over or has no such node: it was sent before the attempt ended.
bool ExchangeServer::is_late(const Contributor& from, const ValueId& id) const {
  return id.round && (nodes_.empty() || id.attempt != attempt_ || !from.rank);
}

/// Returns what the first chunk shows to be wrong with a value; follows the node's name. Empty: nothing.
std::string ExchangeServer::objection(const Contributor& from, const ValueId& id) const {
  const ExchangeKey* const key = find_key(keys_, id.key);
  if (key == nullptr) {
    return "contributes under '" + id.key + "', which no node of this job does";
  }
  if ((key->phase == Phase::WhileRunning) != id.round.has_value()) {
    return "sent an unexpected value for '" + id.key + "' (protocol error)";
  }
  return id.round ? objection_to_nodes(*from.rank, id) : std::string();
}

std::string ExchangeServer::objection_to_nodes(NodeRank from, const ValueId& id) const {
  const auto& nodes = id.nodes;
  const bool is_sorted = std::adjacent_find(nodes.begin(), nodes.end(), std::greater_equal<>()) == nodes.end();
  const bool fits =
      nodes.empty() || (is_sorted && nodes.front().value >= 0 && nodes.back().value < static_cast<int>(nodes_.size()) &&
                        std::binary_search(nodes.begin(), nodes.end(), from));
  if (!fits) {
    return "contributes under '" + id.key + "' for nodes that cannot exist";
  }
  const auto at = rounds_.find({id.key, nodes});
  const int now = at == rounds_.end() ? 0 : at->second.number;
  if (*id.round != now) {
    return "contributes to round " + std::to_string(*id.round) + " of '" + id.key + "', which is at round " +
           std::to_string(now);
  }
  const bool is_twice = at != rounds_.end() && at->second.parts.contains(from);
  return is_twice ? "contributes twice to round " + std::to_string(now) + " of '" + id.key + "'" : "";
}

ExchangeOutcomes ExchangeServer::take(LinkId link, const Contribute& contribute) {
  const auto at = contributors_.find(link);
  if (at == contributors_.end() || is_late(at->second, contribute.chunk.id)) {
    return {};
  }
  Contributor& from = at->second;
  const Chunk& chunk = contribute.chunk;
  const bool is_first = !from.assembler.open();
  if (is_first) {
    if (std::string wrong = objection(from, chunk.id); !wrong.empty()) {
      return {Violation{link, std::move(wrong)}};
    }
  }
  const ExchangeKey* const key = find_key(keys_, chunk.id.key);
  const std::size_t announced = is_first ? 0 : from.assembler.open()->size;
  auto value = from.assembler.take(chunk, key == nullptr ? 0 : key->most_of_node);
  if (!value) {
    held_ -= from.assembler.open() ? 0 : announced;
    return {Violation{link, value.error().message}};
  }
  if (is_first) {
    held_ += chunk.size;
    if (held_ > most_held_) {
      return {Error{ErrorKind::System, "'" + chunk.id.key + "' of " + std::to_string(chunk.size) +
                                           " bytes is too much: all nodes together may contribute " +
                                           std::to_string(most_held_) + " bytes that are not merged yet"}};
    }
  }
  return *value ? store(link, std::move(**value)) : ExchangeOutcomes{};
}

void ExchangeServer::drop_open(Contributor& from) {
  if (from.assembler.open()) {
    held_ -= from.assembler.open()->size;
    from.assembler.drop();
  }
}

/// Stores a complete value in place of an older one.
ExchangeOutcomes ExchangeServer::store(LinkId link, Value value) {
  if (value.id.round) {
    return store_of_round(link, std::move(value));
  }
  std::string& kept = contributors_.at(link).before_start[value.id.key];
  held_ -= kept.size();
  kept = std::move(value.bytes);
  return {};
}

ExchangeOutcomes ExchangeServer::store_of_round(LinkId link, Value value) {
  Group group{value.id.key, value.id.nodes};
  const auto [at, is_new] = rounds_.try_emplace(std::move(group));
  Round& round = at->second;
  if (is_new) {
    round.expected = members(at->first).size();
    held_ += bytes_of(value.id.nodes);
  }
  round.parts[*contributors_.at(link).rank] = std::move(value.bytes);
  return round.parts.size() == round.expected ? finish(at->first, round) : ExchangeOutcomes{};
}

// --- Results ------------------------------------------------------------------------------------

/// Returns the nodes of the round that are not lost.
std::vector<NodeRank> ExchangeServer::members(const Group& group) const {
  if (group.second.empty()) {
    return {present_.begin(), present_.end()};
  }
  std::vector<NodeRank> members;
  std::ranges::copy_if(group.second, std::back_inserter(members),
                       [&](NodeRank rank) { return present_.contains(rank); });
  return members;
}

Result<std::string> ExchangeServer::merge(const ExchangeKey& key, const std::vector<NodePart>& parts) const {
  auto merged = key.merge(parts);
  if (!merged) {
    const ErrorKind kind = merged.error().kind;
    const bool is_sentence = kind == ErrorKind::BadData || kind == ErrorKind::Incomplete;
    return is_sentence ? merged : Error{merged.error().kind, "'" + key.name + "' " + merged.error().message};
  }
  if (merged->size() > key.most_merged) {
    return Error{ErrorKind::System, "'" + key.name + "' of " + count_of(parts.size(), "node") + " is " +
                                        std::to_string(merged->size()) + " bytes long, expected at most " +
                                        std::to_string(key.most_merged)};
  }
  return merged;
}

/// Merges a round once all nodes have contributed, and opens the key's next round.
ExchangeOutcomes ExchangeServer::finish(const Group& group, Round& round) {
  std::vector<NodePart> parts;
  Delivery delivery;
  for (const auto& [rank, bytes] : round.parts) {
    const ExchangeNode& node = nodes_[static_cast<std::size_t>(rank.value)];
    parts.push_back({rank, node.address, bytes});
    delivery.links.push_back(node.link);
    held_ -= bytes.size();
  }
  auto merged = merge(*find_key(keys_, group.first), parts);
  round.parts.clear();
  const int number = round.number++;
  if (!merged) {
    return {merged.error()};
  }
  delivery.chunks = to_messages<Merged>({{group.first, attempt_, number, group.second}, std::move(*merged)});
  return {std::move(delivery)};
}

/// Returns a part for each node, empty for nodes without a contribution. Empty result: no node has contributed.
std::optional<std::vector<NodePart>> ExchangeServer::parts_before_start(const ExchangeKey& key,
                                                                        const std::vector<ExchangeNode>& nodes) const {
  std::vector<NodePart> parts;
  bool is_any = false;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    NodePart& part = parts.emplace_back();
    part.node = NodeRank{static_cast<int>(i)};
    part.address = nodes[i].address;
    const auto contributor = contributors_.find(nodes[i].link);
    if (contributor == contributors_.end()) {
      continue;
    }
    const auto& contributed = contributor->second.before_start;
    if (const auto at = contributed.find(key.name); at != contributed.end()) {
      part.bytes = at->second;
      is_any = true;
    }
  }
  return is_any ? std::optional(std::move(parts)) : std::nullopt;
}

std::string ExchangeServer::pending(const std::vector<ExchangeNode>& nodes) const {
  for (const ExchangeKey& key : keys_) {
    const auto parts = key.pending ? parts_before_start(key, nodes) : std::nullopt;
    if (std::string why = parts ? key.pending(*parts) : std::string(); !why.empty()) {
      return why;
    }
  }
  return {};
}

Result<std::vector<Merged>> ExchangeServer::begin(int attempt, std::vector<ExchangeNode> nodes) {
  end();
  attempt_ = attempt;
  nodes_ = std::move(nodes);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const NodeRank rank{static_cast<int>(i)};
    contributors_[nodes_[i].link].rank = rank;
    present_.insert(rank);
  }
  std::vector<Merged> messages;
  for (const ExchangeKey& key : keys_) {
    const auto parts = parts_before_start(key, nodes_);
    if (!parts) {
      continue;
    }
    auto merged = TRY(merge(key, *parts));
    std::ranges::move(to_messages<Merged>({{key.name, attempt, std::nullopt, {}}, std::move(merged)}),
                      std::back_inserter(messages));
  }
  return messages;
}

void ExchangeServer::end() {
  for (auto& [link, contributor] : contributors_) {
    const auto& open = contributor.assembler.open();
    if (open && open->id.round) {
      drop_open(contributor);
    }
    contributor.rank.reset();
  }
  for (const auto& [group, round] : rounds_) {
    held_ -= bytes_of(group.second);
    for (const auto& [rank, bytes] : round.parts) {
      held_ -= bytes.size();
    }
  }
  rounds_.clear();
  nodes_.clear();
  present_.clear();
}

}  // namespace muster::gang
