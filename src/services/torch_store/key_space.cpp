// Values and queues: see the header.
#include "services/torch_store/key_space.hpp"

#include "base/text.hpp"

#include <charconv>
#include <utility>

namespace muster::store {
namespace {

constexpr std::size_t kLongestShown = 60;

/// As torch's servers read it: blanks and a sign before the digits, and anything behind them.
std::optional<std::int64_t> read_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size()));
  if (text.starts_with('+') && !text.starts_with("+-")) {
    text.remove_prefix(1);
  }
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

/// Without a sign there is an answer to every sum.
std::int64_t sum(std::int64_t one, std::int64_t other) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(one) +
                                   static_cast<std::uint64_t>(other));
}

}  // namespace

KeySpace::~KeySpace() {
  budget_->give_back(spent_);
}

bool KeySpace::has(const std::string& key) const {
  return values_.contains(key) || queues_.contains(key);
}

SharedValue KeySpace::find(const std::string& key) const {
  const auto at = values_.find(key);
  return at == values_.end() ? nullptr : at->second;
}

void KeySpace::for_each_key(const std::function<void(const std::string&)>& see) const {
  for (const auto& [key, value] : values_) {
    see(key);
  }
}

Result<> KeySpace::set(const std::string& key, std::string value) {
  const auto at = values_.find(key);
  const std::size_t freed = at == values_.end() ? 0 : cost_of(key, at->second->size());
  const std::size_t wanted = cost_of(key, value.size());
  if (wanted > freed) {
    if (auto spent = spend(key, wanted - freed); !spent) {
      return spent;
    }
  } else {
    give_back(freed - wanted);
  }
  auto stored = std::make_shared<std::string>(std::move(value));
  if (at == values_.end()) {
    values_.emplace(key, std::move(stored));
  } else {
    at->second = std::move(stored);
  }
  return {};
}

/// First everything is spent, as if no key were there yet, so that nothing can fail in the middle.
Result<> KeySpace::set_all(std::vector<KeyAndValue> pairs) {
  std::size_t wanted = 0;
  for (const KeyAndValue& pair : pairs) {
    wanted += cost_of(pair.key, pair.value.size());
  }
  if (pairs.empty()) {
    return {};
  }
  if (auto spent = spend(pairs.front().key, wanted); !spent) {
    return spent;
  }
  for (KeyAndValue& pair : pairs) {
    give_back(cost_of_stored(pair.key));
    values_[pair.key] = std::make_shared<std::string>(std::move(pair.value));
  }
  return {};
}

Result<> KeySpace::append(const std::string& key, std::string_view value) {
  const auto at = values_.find(key);
  if (at == values_.end()) {
    return set(key, std::string(value));
  }
  if (auto spent = spend(key, value.size()); !spent) {
    return spent;
  }
  if (at->second.use_count() > 1) {  // somebody is being told it as it was
    at->second = std::make_shared<std::string>(*at->second);
  }
  at->second->append(value);
  return {};
}

Result<std::int64_t> KeySpace::add(const std::string& key, std::int64_t amount) {
  const SharedValue stored = find(key);
  const auto number = stored ? read_number(*stored) : std::int64_t{0};
  if (!number) {
    return Error{ErrorKind::BadData,
                 "it counts with the key '" + one_line(key, kLongestShown) + "', which has '" +
                     one_line(*stored, kLongestShown) + "', expected a number"};
  }
  const std::int64_t total = sum(*number, amount);
  if (auto set_total = set(key, std::to_string(total)); !set_total) {
    return set_total.error();
  }
  return total;
}

Result<KeySpace::Compared> KeySpace::compare_and_set(request::CompareSet request) {
  const SharedValue stored = find(request.key);
  if (stored ? *stored != request.expected : !request.expected.empty()) {
    return Compared{stored ? stored : std::make_shared<std::string>(std::move(request.expected))};
  }
  if (auto is_set = set(request.key, std::move(request.desired)); !is_set) {
    return is_set.error();
  }
  return Compared{find(request.key), true};
}

bool KeySpace::erase(const std::string& key) {
  give_back(cost_of_stored(key));
  return values_.erase(key) > 0;
}

Result<> KeySpace::push(const std::string& key, std::string value) {
  if (auto spent = spend(key, cost_of(key, value.size())); !spent) {
    return spent;
  }
  queues_[key].push_back(std::make_shared<std::string>(std::move(value)));
  return {};
}

SharedValue KeySpace::pop(const std::string& key) {
  const auto at = queues_.find(key);
  if (at == queues_.end()) {
    return nullptr;
  }
  SharedValue front = std::move(at->second.front());
  at->second.pop_front();
  give_back(cost_of(key, front->size()));
  if (at->second.empty()) {
    queues_.erase(at);
  }
  return front;
}

std::size_t KeySpace::queue_size(const std::string& key) const {
  const auto at = queues_.find(key);
  return at == queues_.end() ? 0 : at->second.size();
}

Result<> KeySpace::spend(const std::string& key, std::size_t bytes) {
  if (!budget_->spend(bytes)) {
    return Error{ErrorKind::Incomplete,
                 "the store is full: '" + one_line(key, kLongestShown) + "' needs " +
                     std::to_string(bytes) + " bytes, and of " + std::to_string(budget_->most()) +
                     " there are " + std::to_string(budget_->most() - budget_->spent()) + " left"};
  }
  spent_ += bytes;
  return {};
}

void KeySpace::give_back(std::size_t bytes) {
  budget_->give_back(bytes);
  spent_ -= bytes;
}

std::size_t KeySpace::cost_of(std::string_view key, std::size_t value_size) {
  return key.size() + value_size + kEntryOverhead;
}

std::size_t KeySpace::cost_of_stored(const std::string& key) const {
  const auto at = values_.find(key);
  return at == values_.end() ? 0 : cost_of(key, at->second->size());
}

}  // namespace muster::store
