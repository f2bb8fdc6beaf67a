#pragma once

// Whether two nodes have the same table. They tell each other a summary, since tables may be large.

#include "rank_table/read.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::rank_table {

/// What a node says of its table, as its workers read it. The order in which fields are written is no matter.
struct Summary {
  int size = 0;                      ///< ranks
  int server_count = 0;              ///< 0 in form 2.0
  std::string version;               ///< "1.0", "1.2", "2.0"
  std::string digest;                ///< of all that it says
  bool is_short = true;              ///< it has lines, each a JSON object; else digests of them
  std::vector<std::string> ranks;    ///< each with the server that it is on, or a digest of each range
  std::vector<std::string> servers;  ///< each as it is listed, or a digest of each range
  std::string rest;                  ///< what stands beside these lists, or its digest

  bool operator==(const Summary&) const = default;
};

/// A large table has this many ranges of ranks, and as many more as the leader can hold of all nodes: not more
/// than `kMostDigests` if each rank had a node of its own.
inline constexpr std::size_t kLeastRanges = 64;
inline constexpr std::size_t kMostDigests = std::size_t{1} << 21U;
/// The lines of a summary are no more bytes, nor those of all nodes if each rank had one of its own; a table that
/// needs more has digests.
inline constexpr std::size_t kMostLineBytes = std::size_t{96} << 10U;
inline constexpr std::size_t kMostLineBytesOfAll = std::size_t{32} << 20U;

/// `canonical` is the text that `rewrite` makes of the table.
[[nodiscard]] Summary summarise(std::string_view canonical);

/// The first difference, with both values; empty: they are the same. "rank 3 is device 3 of 10.0.0.1 on
/// node 0 and device 4 of 10.0.0.1 on node 2", where these are the names.
[[nodiscard]] std::string describe_difference(const Summary& one, const std::string& name, const Summary& other,
                                              const std::string& other_name);

// Where two JSON values differ.

struct FieldDifference {
  std::string path;  ///< "level_list[0].rank_addr_list[1].addr"
  std::string here;  ///< as it is written, shortened; "missing"
  std::string there;
};

/// The first field that is another. In what order fields are written is no matter.
[[nodiscard]] std::optional<FieldDifference> first_difference(const json::value& one, const json::value& other,
                                                              const std::string& path = {});

}  // namespace muster::rank_table
