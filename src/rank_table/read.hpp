#pragma once

// From a file's text to a table, and what is wrong with it.

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

/// A table, or why it is not one yet, or what is wrong with its structure for good (`BadData`).
using Reading = std::variant<Table, Unfinished, Error>;

/// The same without blanks at the beginnings of lines, which are most of a table for people.
[[nodiscard]] std::string without_indentation(std::string text);

/// Numbers may be written as text or as numbers. `name` is what errors call the file. Text that ends in
/// the middle is torn, and so unfinished.
[[nodiscard]] Reading read(std::string_view text, const std::string& name);

/// What depends on more than the table.
struct Rules {
  bool needs_addresses = false;  ///< HCCL_INTRA_ROCE_ENABLE=1: devices of one server have `device_ip`, too
  std::size_t most = 20;         ///< how many breaches to look for
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
[[nodiscard]] Inspection inspect(std::string_view text, const std::string& name, const Rules& rules = {});

/// `server_list[3].device[0].device_ip is "10.0.0.1", expected ... (CANN: EI0004)`.
[[nodiscard]] std::string describe(const Breach& breach);

// How far a table is whose writer has not completed it.

/// By `status`; empty: it is completed, or has no status at all.
[[nodiscard]] std::optional<Unfinished> find_progress(const json::object& root);

// The text of a rank table as JSON, and numbers in it that may be text.

/// What was not finished yet, or is no JSON object.
using Document = std::variant<json::object, Unfinished, Breach>;

/// All values live in `memory`, which has to live longer. Text that ends in the middle is unfinished, and so
/// is a table whose `status` is not "completed".
[[nodiscard]] Document parse(std::string_view text, Memory& memory);

/// A text once more that `parse` has made an object of.
[[nodiscard]] json::object parse_again(std::string_view text, Memory& memory);

/// 8 or "8"; empty: neither, below 0, or beyond an int.
[[nodiscard]] std::optional<int> number_of(const json::value* value);

/// Of the member, a part of it; empty: there is none, or it is no text.
[[nodiscard]] std::string_view text_of(const json::object& object, std::string_view key);

/// The member as text, also where it is a number; empty: there is none, or it is neither.
[[nodiscard]] std::string plain_text(const json::object& object, std::string_view key);

/// As it is written, for a `Breach`; shortened. Empty: there is none.
[[nodiscard]] std::string written(const json::value* value);

/// The member if it is of that kind; null: there is none, or it is of another.
[[nodiscard]] json::array* array_of(json::object& object, std::string_view key);
[[nodiscard]] const json::array* array_of(const json::object& object, std::string_view key);

/// Calls back with each object of a list; null is a list without any.
template <typename Array, typename Function>
void for_each_object(Array* list, const Function& function) {
  if (list == nullptr) {
    return;
  }
  for (auto& item : *list) {
    if (auto* object = item.if_object()) {
      function(*object);
    }
  }
}

/// What HCCL wants as text in forms 1.x.
inline constexpr std::array<std::string_view, 8> kDeviceTexts = {
    "device_id",          "rank_id", "device_port",    "device_vnic_port", "host_port",
    "backup_device_port", "numa_id", "super_device_id"};

}  // namespace muster::rank_table
