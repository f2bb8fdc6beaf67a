#pragma once

// What a client asks for: one value for each operation. The greeting is none, it only says how the client speaks.

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace muster::store {

struct KeyAndValue {
  std::string key;
  std::string value;

  bool operator==(const KeyAndValue&) const = default;
};

namespace request {

struct Set : KeyAndValue {};
struct CompareSet {
  std::string key;
  std::string expected;
  std::string desired;
};
struct Get {
  std::string key;
};
struct Add {
  std::string key;
  std::int64_t amount = 0;
};
struct Check {
  std::vector<std::string> keys;
};
struct Wait {
  std::vector<std::string> keys;
};
struct CountKeys {};
struct WatchKey {
  std::string key;
};
struct DeleteKey {
  std::string key;
};
struct Append : KeyAndValue {};
struct MultiGet {
  std::vector<std::string> keys;
};
struct MultiSet {
  std::vector<KeyAndValue> pairs;
};
struct CancelWait {};
struct Ping {
  std::uint32_t nonce = 0;  ///< the client's pid, as it sees itself
};
struct QueuePush : KeyAndValue {};
struct QueuePop {
  std::string key;
};
struct QueueLength {
  std::string key;
};
struct ListKeys {};
struct Barrier {
  std::string key;
  std::int64_t world_size = 0;
};

}  // namespace request

/// What changes or reads keys, or waits for them.
using KeyRequest = std::variant<request::Set,
                                request::CompareSet,
                                request::Get,
                                request::Add,
                                request::Check,
                                request::Wait,
                                request::CountKeys,
                                request::DeleteKey,
                                request::Append,
                                request::MultiGet,
                                request::MultiSet,
                                request::CancelWait,
                                request::QueuePush,
                                request::QueuePop,
                                request::QueueLength,
                                request::ListKeys,
                                request::Barrier>;

using Request = std::variant<request::Ping, request::WatchKey, KeyRequest>;

}  // namespace muster::store
