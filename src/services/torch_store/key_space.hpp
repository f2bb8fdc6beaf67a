#pragma once

// Keys and queues of one generation of clients, and the assignment of clients to generations. Pure.

#include "base/result.hpp"
#include "services/torch_store/request_reader.hpp"
#include "services/torch_store/store_values.hpp"
#include "services/torch_store/waits.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace muster::store {

/// Shared, so that a large value that thousands ask for at once exists once. Never null.
using SharedValue = std::shared_ptr<const std::string>;

/// Keys with their values, and queues. The budget is charged for stored data until the data is replaced or deleted,
/// or this is destroyed. Data that does not fit into the budget changes nothing, and fails with `Incomplete`.
class KeySpace {
 public:
  explicit KeySpace(Budget& budget) : budget_(&budget) {}
  KeySpace(const KeySpace&) = delete;
  KeySpace& operator=(const KeySpace&) = delete;
  ~KeySpace();

  /// True: the key has a value, or a queue that is not empty.
  bool has(const std::string& key) const;
  /// Null: the key has no value. Queues are not searched.
  SharedValue find(const std::string& key) const;
  std::size_t size() const { return values_.size(); }
  void for_each_key(const auto& see) const {
    for (const auto& [key, value] : values_) {
      see(key);
    }
  }

  [[nodiscard]] Result<> set(const std::string& key, std::string value);
  /// Sets all pairs of a key and a value, or none, and takes the values. If a key is given twice, the last value counts.
  [[nodiscard]] Result<> set_all(std::span<std::string> keys_and_values);
  [[nodiscard]] Result<> append(const std::string& key, std::string_view value);
  /// Adds to a value, a number in decimal digits, and returns the sum. It wraps around at the largest number, as
  /// torch's does. Fails with `BadData` if the value is not a number.
  [[nodiscard]] Result<std::int64_t> add(const std::string& key, std::int64_t amount);
  struct Compared {
    SharedValue answer;
    bool is_set = false;
  };
  [[nodiscard]] Result<Compared> compare_and_set(const std::string& key, std::string expected, std::string desired);
  /// True: the key had a value.
  bool erase(const std::string& key);

  [[nodiscard]] Result<> push(const std::string& key, std::string value);
  /// Null: the queue is empty.
  SharedValue pop(const std::string& key);
  std::size_t queue_size(const std::string& key) const;

 private:
  using Stored = std::shared_ptr<std::string>;

  [[nodiscard]] Result<> spend(const std::string& key, std::size_t bytes);
  void give_back(std::size_t bytes);
  static std::size_t cost_of(std::string_view key, std::size_t value_size);
  std::size_t cost_of_stored(const std::string& key) const;

  std::unordered_map<std::string, Stored> values_;
  std::unordered_map<std::string, std::list<Stored>> queues_;
  Budget* budget_;
  std::size_t spent_ = 0;
};

// Decides which clients see the same keys.
//
// A store that a worker hosts lives as long as that worker's process group: a rank that calls init_process_group
// again finds a new store, and may use the same keys again. This store outlives the process groups, so each gets a
// new key space.

/// One key space with its clients.
struct Generation {
  /// A process, by its connections. All connections of an address without a pid count as one process.
  struct Member {
    std::size_t open = 0;          ///< number of connections
    std::size_t joined_ranks = 0;  ///< how many of its connections, open or closed, have arrived
  };

  Generation(std::size_t its_number, Budget& budget) : number(its_number), keys(budget), waits(budget) {}

  std::size_t number;
  KeySpace keys;
  Waits waits;
  std::map<Process, Member> members{};
  std::size_t open = 0;   ///< number of connections
  std::size_t ranks = 0;  ///< number of ranks that have arrived
};

/// Assigns connections to generations: one generation for each time that the ranks meet. A connection belongs to a
/// generation from its first request about keys. It *arrives* if this request adds to the key by which torch counts
/// the ranks that have called init_process_group; a generation is *complete* when all ranks have arrived.
class Generations {
 public:
  /// For a job of `workers` workers.
  Generations(std::size_t workers, Budget& budget) : workers_(workers), budget_(&budget) {}

  /// Chooses the generation of a new connection of the process, and counts the connection there.
  ///
  /// An arrival joins the first incomplete generation after those in which its process has arrived. A process without
  /// a pid cannot be told from others and counts as arrived in none. Any other connection joins the last generation
  /// of its process, else the latest one.
  ///
  /// While a generation is incomplete, a process that has connections there and arrives again stays: it may be
  /// another process with the same pid in another pid namespace. A complete generation is left even with open
  /// connections: torch's DistributedDataParallel keeps its store for ever.
  Generation& join(const Process& process, bool is_arrival);
  /// Called when a connection has ended. With its last connection a generation is dropped, once no further client can
  /// look for its keys: all workers have been there, or there is a later generation.
  void leave(Generation& generation, const Process& process);

  JoinedRanks joined_ranks() const;
  InitBarrier init_barrier() const;

 private:
  Generation& choose(const Process& process, bool is_arrival);
  /// The last generation of the process; null: none.
  Generation* last_of(const Process& process);
  bool must_stay(const Generation& generation, const Process& process) const;
  /// The first incomplete generation after `last` (null: of all), or a new one.
  Generation& first_incomplete_after(const Generation* last);
  Generation& begin();
  bool is_complete(const Generation& generation) const;
  bool is_over(const Generation& generation) const;

  std::size_t workers_;
  Budget* budget_;
  std::list<Generation> generations_;  ///< in the order of their numbers
  std::size_t next_ = 0;
};

}  // namespace muster::store
