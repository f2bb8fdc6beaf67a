#pragma once

// The keys and the queues of one generation of clients, and what changing them means. Pure; who waits is in waits.hpp.

#include "base/result.hpp"
#include "services/torch_store/request_reader.hpp"
#include "services/torch_store/store.hpp"
#include "services/torch_store/waits.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
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

// Which clients see the same keys. Pure.
//
// A store that a worker hosts lives as long as that worker's process group: who calls init_process_group again finds
// a new one, and may use the same keys again. This one outlives them, so it has a new space of keys each time.

/// One space of keys, and who has it.
struct Generation {
  /// A process, by its connections. Those that have told no pid count as one, with their address.
  struct Member {
    std::size_t open = 0;          ///< how many there are
    std::size_t joined_ranks = 0;  ///< how many of all have arrived
  };

  Generation(std::size_t its_number, Budget& budget) : number(its_number), keys(budget), waits(budget) {}

  std::size_t number;
  KeySpace keys;
  Waits waits;
  std::map<Process, Member> members{};
  std::size_t open = 0;   ///< connections
  std::size_t ranks = 0;  ///< that have arrived
};

/// A connection belongs to one generation from its first request about keys on. It *arrives* if that adds to the key by
/// which torch counts the ranks that have called init_process_group.
class Generations {
 public:
  /// Of a job of so many workers.
  Generations(std::size_t workers, Budget& budget) : workers_(workers), budget_(&budget) {}

  /// Where a new connection of the process belongs. It is counted there.
  ///
  /// Who arrives comes to the first generation that lacks ranks, after those in which it has arrived; one without a
  /// pid cannot be told from others and has arrived in none. Who does not comes where it was last, else to the latest.
  ///
  /// While a generation lacks ranks, a process that arrives there again and has connections stays: it may be another
  /// one, of which the pid is the same in another pid namespace. When nobody lacks it is left though connections
  /// are open: torch's DistributedDataParallel keeps its store for ever.
  [[nodiscard]] Generation& join(const Process& process, bool is_arrival);
  /// A generation is dropped with its last connection, when nobody can come any more who would look for its keys:
  /// all workers have been there, or there is a later one.
  void leave(Generation& generation, const Process& process);

  [[nodiscard]] JoinedRanks joined_ranks() const;
  [[nodiscard]] InitBarrier init_barrier() const;

 private:
  [[nodiscard]] Generation& choose(const Process& process, bool is_arrival);
  /// The last that the process is in; null: none.
  [[nodiscard]] Generation* last_of(const Process& process);
  [[nodiscard]] bool must_stay(const Generation& generation, const Process& process) const;
  [[nodiscard]] Generation& lacking_after(const Generation* last);
  [[nodiscard]] Generation& begin();
  [[nodiscard]] bool is_complete(const Generation& generation) const;
  [[nodiscard]] bool is_over(const Generation& generation) const;

  std::size_t workers_;
  Budget* budget_;
  std::list<Generation> generations_;  ///< by their numbers
  std::size_t next_ = 0;
};

}  // namespace muster::store
