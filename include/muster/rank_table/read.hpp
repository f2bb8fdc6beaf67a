#pragma once

// From a file's text to a table, and what is wrong with it.

#include <muster/rank_table/rank_table.hpp>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace muster::rank_table {

/// A table, or why it is not one yet, or what is wrong with its structure for good (`BadData`).
using Reading = std::variant<Table, Unfinished, Error>;

/// Numbers may be written as text or as numbers. `name` is what errors call the file. Text that ends in
/// the middle is torn, and so unfinished.
[[nodiscard]] Reading read(std::string_view text, const std::string& name);

/// What HCCL would refuse, rule by rule in the order of the table; at most `most` breaches. A text that is not
/// finished breaks none; one of which `read` makes an Error breaks one or more.
[[nodiscard]] std::vector<Breach> check(std::string_view text, std::size_t most = 20);

/// `server_list[3].device[0].device_ip is "10.0.0.1", expected ... (CANN: EI0004)`.
[[nodiscard]] std::string describe(const Breach& breach);

}  // namespace muster::rank_table
