#pragma once

// From a file's text to a table, and what is wrong with it.

#include "environment/snapshot.hpp"
#include "rank_table/rank_table.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace muster::rank_table {

/// A table, or why it is not one yet, or what is wrong with its structure for good (`BadData`).
using Reading = std::variant<Table, Unfinished, Error>;

/// The same without blanks at the beginnings of lines, which are most of a table for people.
[[nodiscard]] std::string without_indentation(std::string text);

/// Numbers may be written as text or as numbers. `name` is what errors call the file. Text that ends in
/// the middle is torn, and so unfinished.
[[nodiscard]] Reading read(std::string_view text, const std::string& name);

/// What depends on more than the table.
struct Rules {
  bool needs_addresses =
      false;              ///< HCCL_INTRA_ROCE_ENABLE=1: devices of one server have `device_ip`, too
  std::size_t most = 20;  ///< how many breaches to look for
  bool wants_remarks = true;
};

/// What the surroundings say about it.
[[nodiscard]] Rules find_rules(const Snapshot& snapshot);

/// What HCCL would refuse, rule by rule in the order of the table. A text that is not finished breaks none; one
/// of which `read` makes an Error breaks one or more.
[[nodiscard]] std::vector<Breach> check(std::string_view text, const Rules& rules = {});

/// All that can be said of a text.
struct Inspection {
  Reading reading;
  std::vector<Breach> breaches;
  /// What HCCL would refuse in the file itself but not in what `rewrite` makes of it, such as numbers where
  /// it wants text, and what only old versions of it refuse.
  std::vector<Breach> notices;
};

/// Parses the text once for all of that: a large table takes a while.
[[nodiscard]] Inspection inspect(std::string_view text,
                                 const std::string& name,
                                 const Rules& rules = {});

/// `server_list[3].device[0].device_ip is "10.0.0.1", expected ... (CANN: EI0004)`.
[[nodiscard]] std::string describe(const Breach& breach);

}  // namespace muster::rank_table
