#pragma once

// Reads a table from a file's text, and checks it by HCCL's rules.

#include "base/json.hpp"
#include "environment/snapshot.hpp"
#include "rank_table/rank_table.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace muster::rank_table {

/// A table, or why it is incomplete, or what makes its structure invalid for good (`BadData`).
using Reading = std::variant<Table, Unfinished, Error>;

/// Removes the blanks at the beginnings of lines, which are most of an indented table.
std::string without_indentation(std::string text);

/// Reads a table; numbers may be JSON texts or JSON numbers. `name` is the file's name in errors. Truncated text is
/// unfinished.
Reading read(std::string_view text, const std::string& name);

/// Settings of HCCL's rules that are not part of the table.
struct Rules {
  bool needs_addresses = false;  ///< HCCL_INTRA_ROCE_ENABLE=1: devices of one server need `device_ip`, too
  std::size_t most = 20;         ///< maximum number of breaches to report
  bool wants_notices = true;
};

/// Reads the rules from the surroundings.
Rules find_rules(const Snapshot& snapshot);

/// The result of reading and checking a text.
struct Inspection {
  Reading reading;
  /// Breaches of HCCL's rules, in the order of the table. None if the text is unfinished; at least one if it cannot
  /// be read.
  std::vector<Breach> breaches;
  /// Breaches in the file that `rewrite` corrects, such as numbers where HCCL wants text, and those that only old
  /// versions of HCCL refuse.
  std::vector<Breach> notices;
};

/// Reads and checks a text. Parses it only once, because a large table takes long.
Inspection inspect(std::string_view text, const std::string& name, const Rules& rules = {});

/// `server_list[3].device[0].device_ip is "10.0.0.1", expected ... (CANN: EI0004)`.
std::string describe(const Breach& breach);

// A rank table's JSON, and numbers in it that may be text.

/// A parsed object, or why it is unfinished, or why it is no JSON object.
using Document = std::variant<json::object, Unfinished, Breach>;

/// Parses into `memory`, which must outlive the result. Truncated text is unfinished, and so is a table whose
/// `status` is not "completed".
Document parse(std::string_view text, Memory& memory);

/// Parses a text again that `parse` has accepted.
json::object parse_again(std::string_view text, Memory& memory);

/// 8 or "8"; empty: neither, negative, or beyond an int.
std::optional<int> number_of(const json::value* value);

/// The member as text, also where it is a number; empty: missing, or neither.
std::string plain_text(const json::object& object, std::string_view key);

/// The value as written, shortened, for a `Breach`. Empty: missing.
std::string written(const json::value* value);

/// Members of a device that HCCL wants as text in forms 1.x.
inline constexpr std::array<std::string_view, 8> kDeviceTexts = {
    "device_id",          "rank_id", "device_port",    "device_vnic_port", "host_port",
    "backup_device_port", "numa_id", "super_device_id"};

}  // namespace muster::rank_table
