#pragma once

// Which clients see the same keys. Pure.
//
// A store that a worker hosts lives as long as that worker's process group: who calls init_process_group again finds
// a new one, and may use the same keys again. This one outlives them, so it has a new space of keys each time.

#include "services/torch_store/budget.hpp"
#include "services/torch_store/key_space.hpp"
#include "services/torch_store/waits.hpp"

#include "services/torch_store/client.hpp"
#include "services/torch_store/store.hpp"

#include <cstddef>
#include <list>
#include <map>
#include <optional>

namespace muster::store {

/// One space of keys, and who has it.
struct Generation {
  /// A process, by its connections. Those that have told no pid count as one, with their address.
  struct Member {
    std::size_t open = 0;          ///< how many there are
    std::size_t joined_ranks = 0;  ///< how many of all have arrived
  };

  Generation(std::size_t its_number, Budget& budget)
      : number(its_number), keys(budget), waits(budget) {}

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
