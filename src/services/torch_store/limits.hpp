#pragma once

// How much clients of the store may send, leave unread and have kept.

#include <cstddef>

namespace muster::store {

/// In bytes, unless something else is said. Those of a key, a value and the number of keys are those of torch's own
/// server; it has none of the others.
struct Limits {
  std::size_t key = std::size_t{8} << 10U;
  std::size_t value = std::size_t{8} << 20U;
  std::size_t keys = std::size_t{128} << 10U;    ///< how many in one request
  std::size_t request = std::size_t{64} << 20U;  ///< one in all
  std::size_t unfinished = std::size_t{256}
                           << 20U;  ///< requests of all clients that are not whole yet
  std::size_t data = std::size_t{256}
                     << 20U;  ///< all that is kept, and the keys that are waited for
  std::size_t unread = std::size_t{64} << 20U;          ///< answers that one client has not read
  std::size_t unread_of_all = std::size_t{256} << 20U;  ///< what all together have not, in memory
  /// How many; as many more are let in for the whole job. A process may have more while nobody else needs them.
  std::size_t connections_per_worker = 64;
};

}  // namespace muster::store
