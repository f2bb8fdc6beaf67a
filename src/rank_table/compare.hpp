#pragma once

// Compares the tables of two nodes by summaries, since tables may be large.

#include "rank_table/read.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::rank_table {

/// A node's summary of the table that its workers read. The order of fields has no influence.
struct Summary {
  int size = 0;                      ///< ranks
  int server_count = 0;              ///< 0 in form 2.0
  std::string version;               ///< "1.0", "1.2", "2.0"
  std::string digest;                ///< of the whole content
  bool is_short = true;              ///< `ranks` and `servers` are JSON lines; else digests
  std::vector<std::string> ranks;    ///< each with the server that it is on, or a digest of each range
  std::vector<std::string> servers;  ///< each as it is listed, or a digest of each range
  std::string rest;                  ///< everything else, or its digest

  bool operator==(const Summary&) const = default;
};

/// A large table has at least this many ranges of ranks, and more as long as the leader can store those of all nodes:
/// at most `kMostDigests` in total if each rank had its own node.
inline constexpr std::size_t kLeastRanges = 64;
inline constexpr std::size_t kMostDigests = std::size_t{1} << 21U;
/// Upper limit of the bytes of a summary's lines, and of those of all nodes if each rank had its own; a larger table
/// uses digests.
inline constexpr std::size_t kMostLineBytes = std::size_t{96} << 10U;
inline constexpr std::size_t kMostLineBytesOfAll = std::size_t{32} << 20U;

/// `canonical` is the text that `rewrite` makes of the table.
[[nodiscard]] Summary summarise(std::string_view canonical);

/// The first difference, with both values; empty: the summaries are equal. "rank 3 is device 3 of 10.0.0.1 on node 0
/// and device 4 of 10.0.0.1 on node 2", where these are the names.
[[nodiscard]] std::string describe_difference(const Summary& one, const std::string& name, const Summary& other,
                                              const std::string& other_name);

// Finds the first difference between two JSON values.

struct FieldDifference {
  std::string path;  ///< "level_list[0].rank_addr_list[1].addr"
  std::string here;  ///< as it is written, shortened; "missing"
  std::string there;
};

/// The first field that differs. The order of fields has no influence.
[[nodiscard]] std::optional<FieldDifference> first_difference(const json::value& one, const json::value& other,
                                                              const std::string& path = {});

}  // namespace muster::rank_table
