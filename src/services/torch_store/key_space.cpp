// Implements the generations of clients, their keys and queues, and the requests about them.
#include "services/torch_store/key_space.hpp"

#include "base/text.hpp"
#include "services/torch_store/answers.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace muster::store {

// Assigns clients to generations.

namespace {

/// Ranks of a process: at most one, however often it arrives, if its pid is known.
std::size_t ranks_of(const Process& process, const Generation::Member& member) {
  return process.pid ? std::min<std::size_t>(member.joined_ranks, 1) : member.joined_ranks;
}

}  // namespace

Generation& Generations::join(const Process& process, bool is_arrival) {
  Generation& generation = choose(process, is_arrival);
  auto& member = generation.members[process];
  ++generation.open;
  ++member.open;
  generation.ranks -= ranks_of(process, member);
  member.joined_ranks += is_arrival ? 1 : 0;
  generation.ranks += ranks_of(process, member);
  return generation;
}

Generation& Generations::choose(const Process& process, bool is_arrival) {
  Generation* const last = process.pid ? last_of(process) : nullptr;
  if (is_arrival) {
    return last != nullptr && must_stay(*last, process) ? *last : first_incomplete_after(last);
  }
  if (last != nullptr) {
    return *last;
  }
  return generations_.empty() ? begin() : generations_.back();
}

Generation* Generations::last_of(const Process& process) {
  const auto at = std::find_if(generations_.rbegin(), generations_.rend(),
                               [&](const auto& one) { return one.members.contains(process); });
  return at == generations_.rend() ? nullptr : &*at;
}

bool Generations::must_stay(const Generation& generation, const Process& process) const {
  const auto& member = generation.members.at(process);
  return member.open > 0 && (member.joined_ranks == 0 || !is_complete(generation));
}

/// The first incomplete generation after `last`, or of all if `last` is null; begins a new one if there is none.
Generation& Generations::first_incomplete_after(const Generation* last) {
  const auto at = std::find_if(generations_.begin(), generations_.end(), [&](const auto& one) {
    return (last == nullptr || one.number > last->number) && !is_complete(one);
  });
  return at == generations_.end() ? begin() : *at;
}

/// Begins a new generation. Drops the earlier ones that have no connection any more.
Generation& Generations::begin() {
  std::erase_if(generations_, [](const Generation& one) { return one.open == 0; });
  return generations_.emplace_back(next_++, *budget_);
}

void Generations::leave(Generation& generation, const Process& process) {
  const auto member = generation.members.find(process);
  --member->second.open;
  --generation.open;
  if (member->second.open == 0 && member->second.joined_ranks == 0) {
    generation.members.erase(member);
  }
  if (is_over(generation)) {
    generations_.remove_if([&](const Generation& one) { return &one == &generation; });
  }
}

JoinedRanks Generations::joined_ranks() const {
  JoinedRanks all;
  if (generations_.empty()) {
    return all;
  }
  all.generation = generations_.back().number;
  for (const auto& [process, member] : generations_.back().members) {
    all.ranks.insert(all.ranks.end(), ranks_of(process, member), process);
  }
  return all;
}

InitBarrier Generations::init_barrier() const {
  return generations_.empty() ? InitBarrier() : InitBarrier{generations_.back().number, generations_.back().ranks};
}

bool Generations::is_complete(const Generation& generation) const {
  return generation.ranks >= workers_;
}

bool Generations::is_over(const Generation& generation) const {
  return generation.open == 0 && (is_complete(generation) || &generation != &generations_.back());
}

namespace {

/// Parses a number as torch's servers do: blanks and a sign before the digits, and anything after them.
std::optional<std::int64_t> read_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size()));
  if (text.starts_with('+') && !text.starts_with("+-")) {
    text.remove_prefix(1);
  }
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
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

Result<> KeySpace::set(const std::string& key, std::string value) {
  const auto at = values_.find(key);
  const std::size_t freed = at == values_.end() ? 0 : cost_of(key, at->second->size());
  const std::size_t wanted = cost_of(key, value.size());
  if (wanted > freed) {
    TRY(spend(key, wanted - freed));
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

/// Spends the cost of all pairs first, as if every key were new, so that nothing can fail in the middle.
Result<> KeySpace::set_all(std::span<std::string> keys_and_values) {
  std::size_t wanted = 0;
  for (std::size_t i = 0; i < keys_and_values.size(); i += 2) {
    wanted += cost_of(keys_and_values[i], keys_and_values[i + 1].size());
  }
  if (keys_and_values.empty()) {
    return {};
  }
  TRY(spend(keys_and_values.front(), wanted));
  for (std::size_t i = 0; i < keys_and_values.size(); i += 2) {
    give_back(cost_of_stored(keys_and_values[i]));
    values_[keys_and_values[i]] = std::make_shared<std::string>(std::move(keys_and_values[i + 1]));
  }
  return {};
}

Result<> KeySpace::append(const std::string& key, std::string_view value) {
  const auto at = values_.find(key);
  if (at == values_.end()) {
    return set(key, std::string(value));
  }
  TRY(spend(key, value.size()));
  if (at->second.use_count() > 1) {  // an answer that is not sent yet has the old value
    at->second = std::make_shared<std::string>(*at->second);
  }
  at->second->append(value);
  return {};
}

Result<std::int64_t> KeySpace::add(const std::string& key, std::int64_t amount) {
  const SharedValue stored = find(key);
  const auto number = stored ? read_number(*stored) : std::int64_t{0};
  if (!number) {
    return Error{ErrorKind::BadData, "it counts with the key '" + one_line(key, kLongestShown) + "', which has '" +
                                         one_line(*stored, kLongestShown) + "', expected a number"};
  }
  // Unsigned sums wrap around.
  const auto total =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(*number) + static_cast<std::uint64_t>(amount));
  TRY(set(key, std::to_string(total)));
  return total;
}

Result<KeySpace::Compared> KeySpace::compare_and_set(const std::string& key, std::string expected,
                                                     std::string desired) {
  const SharedValue stored = find(key);
  if (stored ? *stored != expected : !expected.empty()) {
    return Compared{stored ? stored : std::make_shared<std::string>(std::move(expected))};
  }
  TRY(set(key, std::move(desired)));
  return Compared{find(key), true};
}

bool KeySpace::erase(const std::string& key) {
  give_back(cost_of_stored(key));
  return values_.erase(key) > 0;
}

Result<> KeySpace::push(const std::string& key, std::string value) {
  TRY(spend(key, cost_of(key, value.size())));
  queues_[key].push_back(std::make_shared<std::string>(std::move(value)));
  return {};
}

SharedValue KeySpace::pop(const std::string& key) {
  const auto at = queues_.find(key);
  if (at == queues_.end()) {
    return nullptr;
  }
  SharedValue oldest = std::move(at->second.front());
  at->second.pop_front();
  give_back(cost_of(key, oldest->size()));
  if (at->second.empty()) {
    queues_.erase(at);
  }
  return oldest;
}

std::size_t KeySpace::queue_size(const std::string& key) const {
  const auto at = queues_.find(key);
  return at == queues_.end() ? 0 : at->second.size();
}

Result<> KeySpace::spend(const std::string& key, std::size_t bytes) {
  if (!budget_->spend(bytes)) {
    return Error{ErrorKind::Incomplete, "the store is full: '" + one_line(key, kLongestShown) + "' needs " +
                                            std::to_string(bytes) + " bytes, and of " +
                                            std::to_string(budget_->most()) + " there are " +
                                            std::to_string(budget_->most() - budget_->spent()) + " left"};
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

// The requests. Numbers are answered in the sizes that torch's clients read.

namespace {

// Answers to CHECK, WAIT, BARRIER and CANCEL_WAIT.
constexpr std::uint8_t kReady = 0;
constexpr std::uint8_t kNotReady = 1;
constexpr std::uint8_t kCancelled = 1;

}  // namespace

Result<> KeyActions::run(Request& request) {
  KeySpace& keys = generation_.keys;
  std::vector<std::string>& texts = request.texts;
  const auto is_there = [&](const std::string& key) { return keys.has(key); };
  switch (request.operation) {
    case Operation::Set:
      return note_changed(texts[0], keys.set(texts[0], std::move(texts[1])));
    case Operation::Append:
      return note_changed(texts[0], keys.append(texts[0], texts[1]));
    case Operation::MultiSet:
      return set_all(texts);
    case Operation::CompareSet:
      return compare_and_set(texts);
    case Operation::Add:
      return add(texts[0], request.number);
    case Operation::Get:
    case Operation::MultiGet:
      return get_all(texts);
    case Operation::Check:
      return answer(std::ranges::all_of(texts, is_there) ? kReady : kNotReady);
    case Operation::Wait:
      std::erase_if(texts, is_there);
      return wait_for(texts);
    case Operation::CancelWait:  // answered, whether it waits or not: the answer to the wait may be on its way, too
      generation_.waits.end(client_);
      return answer(kCancelled);
    case Operation::Barrier:
      return enter_barrier(texts[0], request.number);
    case Operation::CountKeys:
      return answer(static_cast<std::int64_t>(keys.size()));
    case Operation::DeleteKey:
      return answer(std::int64_t{keys.erase(texts[0]) ? 1 : 0});
    case Operation::ListKeys:
      return list_keys();
    case Operation::QueuePush:
      return push(texts);
    case Operation::QueuePop:
      return pop(texts[0]);
    case Operation::QueueLength:
      return answer(static_cast<std::int64_t>(keys.queue_size(texts[0])));
    case Operation::Validate:
    case Operation::WatchKey:
    case Operation::Ping:
      break;  // of no key
  }
  return {};
}

Result<> KeyActions::note_changed(const std::string& key, const Result<>& done) {
  if (done) {
    wake(key);
  }
  return done;
}

Result<> KeyActions::set_all(std::vector<std::string>& keys_and_values) {
  TRY(generation_.keys.set_all(keys_and_values));
  for (std::size_t i = 0; i < keys_and_values.size(); i += 2) {
    wake(keys_and_values[i]);
  }
  return {};
}

Result<> KeyActions::compare_and_set(std::vector<std::string>& texts) {
  auto compared = TRY(generation_.keys.compare_and_set(texts[0], std::move(texts[1]), std::move(texts[2])));
  if (compared.is_set) {
    wake(texts[0]);
  }
  return answer_value(std::move(compared.answer));
}

Result<> KeyActions::add(const std::string& key, std::int64_t amount) {
  const auto total = TRY(generation_.keys.add(key, amount));
  wake(key);
  return answer(total);
}

Result<> KeyActions::get_all(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    TRY(answer_value(generation_.keys.find(key)));
  }
  return {};
}

Result<> KeyActions::push(std::vector<std::string>& key_and_value) {
  TRY(generation_.keys.push(key_and_value[0], std::move(key_and_value[1])));
  if (const auto woken = generation_.waits.on_pushed(key_and_value[0])) {
    answers_.add_number(*woken, kReady);
  }
  return {};
}

Result<> KeyActions::pop(const std::string& key) {
  const auto size = static_cast<std::int64_t>(generation_.keys.queue_size(key));
  auto answered = answer(size);
  return answered && size > 0 ? answer_value(generation_.keys.pop(key)) : answered;
}

Result<> KeyActions::list_keys() {
  TRY(answer(static_cast<std::int64_t>(generation_.keys.size())));
  Result<> all;
  generation_.keys.for_each_key(
      [&](const std::string& key) { all = all ? answer_value(std::make_shared<std::string>(key)) : all; });
  return all;
}

/// Counting does not wake the key's waiters: they wait until all ranks have come.
Result<> KeyActions::enter_barrier(const std::string& key, std::int64_t world_size) {
  const auto count = TRY(generation_.keys.add(key, 1));
  if (count < world_size) {
    return wait_for({key});
  }
  wake(key);
  return wait_for({});
}

Result<> KeyActions::wait_for(const std::vector<std::string>& missing) {
  if (missing.empty()) {
    generation_.waits.end(client_);
    return answer(kReady);
  }
  TRY(answers_.may_add(client_, sizeof kReady));
  if (!generation_.waits.begin(client_, missing)) {
    return Error{ErrorKind::Incomplete, "the store is full: it waits for '" + std::to_string(missing.size()) +
                                            "' keys, for which there is no room"};
  }
  return {};
}

void KeyActions::wake(const std::string& key) {
  for (const ClientId client : generation_.waits.on_changed(key)) {
    answers_.add_number(client, kReady);
  }
}

template <typename Number>
Result<> KeyActions::answer(Number number) {
  TRY(answers_.may_add(client_, sizeof number));
  answers_.add_number(client_, number);
  return {};
}

Result<> KeyActions::answer_value(SharedValue value) {
  const std::uint64_t size = value ? value->size() : 0;
  TRY(answers_.may_add(client_, sizeof size + size));
  answers_.add_number(client_, size);
  if (value) {
    answers_.add_value(client_, std::move(value));
  }
  return {};
}

}  // namespace muster::store
