#pragma once

// Whether two nodes have the same table. They tell each other a summary, since tables may be large.

#include <muster/rank_table/rank_table.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster::rank_table {

/// What a node says of its table.
struct Summary {
  int size = 0;          ///< ranks
  std::string digest;    ///< of the table as workers read it
  bool is_short = true;  ///< it has lines; else digests of them
  std::vector<std::string>
      ranks;  ///< what each is, or a digest of each of at most `kMostRanges` ranges
  std::vector<std::string> super_pods;  ///< what each is, or one digest of all

  bool operator==(const Summary&) const = default;
};

inline constexpr std::size_t kMostRanges = 64;
/// The lines of a summary are no more bytes; a table that needs more has digests.
inline constexpr std::size_t kMostLineBytes = std::size_t{32} << 10U;

/// `canonical` is the text that `rewrite` makes of the table.
[[nodiscard]] Summary summarise(const Table& table, std::string_view canonical);

/// The first difference, with both values; empty: they are the same. "rank 3 is device 3 of 10.0.0.1 on
/// node 0 and device 4 of 10.0.0.1 on node 2", where these are the names.
[[nodiscard]] std::string describe_difference(const Summary& one,
                                              const std::string& name,
                                              const Summary& other,
                                              const std::string& other_name);

}  // namespace muster::rank_table
