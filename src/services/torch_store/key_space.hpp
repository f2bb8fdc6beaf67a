#pragma once

// The keys and the queues of one generation of clients, and what changing them means. Pure; who waits is in waits.hpp.

#include "services/torch_store/budget.hpp"
#include "services/torch_store/request.hpp"

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace muster::store {

/// Shared, so that a large one that thousands ask for at once is there once. Never null.
using SharedValue = std::shared_ptr<const std::string>;

/// What one client has set is taken out of the budget, and given back when it is replaced, deleted, or with all.
/// What does not fit changes nothing, and fails with `Incomplete`: what "it sets" or so.
class KeySpace {
 public:
  explicit KeySpace(Budget& budget) : budget_(&budget) {}
  KeySpace(const KeySpace&) = delete;
  KeySpace& operator=(const KeySpace&) = delete;
  ~KeySpace();

  /// In the keys, or a queue that is not empty.
  [[nodiscard]] bool has(const std::string& key) const;
  /// Null: it is not there. Queues are no values.
  [[nodiscard]] SharedValue find(const std::string& key) const;
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  void for_each_key(const std::function<void(const std::string&)>& see) const;

  [[nodiscard]] Result<> set(const std::string& key, std::string value);
  /// All or none of them. Of a key that stands there twice the last counts.
  [[nodiscard]] Result<> set_all(std::vector<KeyAndValue> pairs);
  [[nodiscard]] Result<> append(const std::string& key, std::string_view value);
  /// What is stored there is a number in decimal digits. The sum; it begins anew behind the largest number, as
  /// torch's. Fails with `BadData` where something else is stored.
  [[nodiscard]] Result<std::int64_t> add(const std::string& key, std::int64_t amount);
  struct Compared {
    SharedValue answer;
    bool is_set = false;
  };
  [[nodiscard]] Result<Compared> compare_and_set(request::CompareSet request);
  /// True: it was there.
  bool erase(const std::string& key);

  [[nodiscard]] Result<> push(const std::string& key, std::string value);
  /// Null: it is empty.
  [[nodiscard]] SharedValue pop(const std::string& key);
  [[nodiscard]] std::size_t queue_size(const std::string& key) const;

 private:
  using Stored = std::shared_ptr<std::string>;

  [[nodiscard]] Result<> spend(const std::string& key, std::size_t bytes);
  void give_back(std::size_t bytes);
  [[nodiscard]] static std::size_t cost_of(std::string_view key, std::size_t value_size);
  [[nodiscard]] std::size_t cost_of_stored(const std::string& key) const;

  std::unordered_map<std::string, Stored> values_;
  std::unordered_map<std::string, std::list<Stored>> queues_;
  Budget* budget_;
  std::size_t spent_ = 0;
};

}  // namespace muster::store
