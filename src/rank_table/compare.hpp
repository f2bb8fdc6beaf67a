#pragma once

// Compares the tables of two nodes by summaries, since tables may be large.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster::rank_table {

/// A node's summary of the table that its workers read. The order of fields in the table does not change it.
struct Summary {
  int size = 0;                      ///< number of ranks
  int server_count = 0;              ///< 0 in form 2.0
  std::string version;               ///< "1.0", "1.2", "2.0"
  std::string digest;                ///< of the whole content
  bool is_short = true;              ///< false: `ranks`, `servers` and `rest` are too long to be sent, and empty
  std::vector<std::string> ranks;    ///< a line of JSON for each rank, with its server
  std::vector<std::string> servers;  ///< lines of JSON; these and `rest` are only read by leaders of other builds
  std::string rest;                  ///< everything else
};

/// Most bytes in the lines of a summary, and most in all summaries together, if each rank had its own line.
inline constexpr std::size_t kMostLineBytes = std::size_t{96} << 10U;
inline constexpr std::size_t kMostLineBytesOfAll = std::size_t{32} << 20U;

/// `canonical` is the text that `rewrite` makes of the table.
Summary summarise(std::string_view canonical);

/// The first difference, with both values, such as "rank 3 is device 3 of 10.0.0.1 on node 0 and device 4 of 10.0.0.1 on node
/// 2", if the names are "node 0" and "node 2"; empty: the digests are equal.
std::string describe_difference(const Summary& one, const std::string& name, const Summary& other,
                                const std::string& other_name);

}  // namespace muster::rank_table
