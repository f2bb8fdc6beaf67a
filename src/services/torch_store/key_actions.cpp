// One function for each request: see the header. Numbers are answered as torch's clients read them, by their sizes.
#include "services/torch_store/key_actions.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace muster::store {
namespace {

// What CHECK, WAIT, BARRIER and CANCEL_WAIT are answered.
constexpr std::uint8_t kReady = 0;
constexpr std::uint8_t kNotReady = 1;
constexpr std::uint8_t kCancelled = 1;

}  // namespace

Result<> KeyActions::operator()(request::Set& request) {
  auto done = generation_.keys.set(request.key, std::move(request.value));
  if (done) {
    wake(request.key);
  }
  return done;
}

Result<> KeyActions::operator()(request::CompareSet& request) {
  const std::string key = request.key;
  auto compared = generation_.keys.compare_and_set(std::move(request));
  if (!compared) {
    return compared.error();
  }
  if (compared->is_set) {
    wake(key);
  }
  return answer_value(std::move(compared->answer));
}

Result<> KeyActions::operator()(request::Get& request) {
  return answer_value(generation_.keys.find(request.key));
}

Result<> KeyActions::operator()(request::Add& request) {
  const auto total = generation_.keys.add(request.key, request.amount);
  if (!total) {
    return total.error();
  }
  wake(request.key);
  return answer(*total);
}

Result<> KeyActions::operator()(request::Check& request) {
  const bool are_there = std::all_of(request.keys.begin(),
                                     request.keys.end(),
                                     [&](const auto& key) { return generation_.keys.has(key); });
  return answer(are_there ? kReady : kNotReady);
}

Result<> KeyActions::operator()(request::Wait& request) {
  std::erase_if(request.keys, [&](const auto& key) { return generation_.keys.has(key); });
  return wait_for(request.keys);
}

Result<> KeyActions::operator()(request::CountKeys& /*request*/) {
  return answer(static_cast<std::int64_t>(generation_.keys.size()));
}

Result<> KeyActions::operator()(request::DeleteKey& request) {
  return answer(std::int64_t{generation_.keys.erase(request.key) ? 1 : 0});
}

Result<> KeyActions::operator()(request::Append& request) {
  auto done = generation_.keys.append(request.key, request.value);
  if (done) {
    wake(request.key);
  }
  return done;
}

Result<> KeyActions::operator()(request::MultiGet& request) {
  for (const std::string& key : request.keys) {
    if (auto answered = answer_value(generation_.keys.find(key)); !answered) {
      return answered;
    }
  }
  return {};
}

Result<> KeyActions::operator()(request::MultiSet& request) {
  std::vector<std::string> keys;
  keys.reserve(request.pairs.size());
  for (const KeyAndValue& pair : request.pairs) {
    keys.push_back(pair.key);
  }
  if (auto done = generation_.keys.set_all(std::move(request.pairs)); !done) {
    return done;
  }
  for (const std::string& key : keys) {
    wake(key);
  }
  return {};
}

/// It is answered whether the client waits or not: its 0 may be on the way already, and then it reads both.
Result<> KeyActions::operator()(request::CancelWait& /*request*/) {
  generation_.waits.end(client_);
  return answer(kCancelled);
}

Result<> KeyActions::operator()(request::QueuePush& request) {
  auto done = generation_.keys.push(request.key, std::move(request.value));
  if (done) {
    if (const auto woken = generation_.waits.on_pushed(request.key)) {
      answers_.add_number(*woken, kReady);
    }
  }
  return done;
}

Result<> KeyActions::operator()(request::QueuePop& request) {
  const auto size = static_cast<std::int64_t>(generation_.keys.queue_size(request.key));
  auto answered = answer(size);
  return answered && size > 0 ? answer_value(generation_.keys.pop(request.key)) : answered;
}

Result<> KeyActions::operator()(request::QueueLength& request) {
  return answer(static_cast<std::int64_t>(generation_.keys.queue_size(request.key)));
}

Result<> KeyActions::operator()(request::ListKeys& /*request*/) {
  if (auto answered = answer(static_cast<std::int64_t>(generation_.keys.size())); !answered) {
    return answered;
  }
  Result<> all;
  generation_.keys.for_each_key([&](const std::string& key) {
    all = all ? answer_value(std::make_shared<std::string>(key)) : all;
  });
  return all;
}

/// Counting is no change of the key: who waits for it waits until all have come.
Result<> KeyActions::operator()(request::Barrier& request) {
  const auto count = generation_.keys.add(request.key, 1);
  if (!count) {
    return count.error();
  }
  if (*count < request.world_size) {
    return wait_for({request.key});
  }
  wake(request.key);
  return wait_for({});
}

Result<> KeyActions::wait_for(const std::vector<std::string>& missing) {
  if (missing.empty()) {
    generation_.waits.end(client_);
    return answer(kReady);
  }
  if (auto may = answers_.may_add(client_, sizeof kReady); !may) {
    return may;
  }
  if (!generation_.waits.begin(client_, missing)) {
    return Error{ErrorKind::Incomplete,
                 "the store is full: it waits for '" + std::to_string(missing.size()) +
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
  auto may = answers_.may_add(client_, sizeof number);
  if (may) {
    answers_.add_number(client_, number);
  }
  return may;
}

Result<> KeyActions::answer_value(SharedValue value) {
  const std::uint64_t size = value ? value->size() : 0;
  if (auto may = answers_.may_add(client_, sizeof size + size); !may) {
    return may;
  }
  answers_.add_number(client_, size);
  if (value) {
    answers_.add_value(client_, std::move(value));
  }
  return {};
}

}  // namespace muster::store
