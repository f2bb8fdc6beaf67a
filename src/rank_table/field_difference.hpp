#pragma once

// Where two JSON values differ.

#include "rank_table/document.hpp"

#include <optional>
#include <string>

namespace muster::rank_table {

struct FieldDifference {
  std::string path;  ///< "level_list[0].rank_addr_list[1].addr"
  std::string here;  ///< as it is written, shortened; "missing"
  std::string there;
};

/// The first field that is another. In what order fields are written is no matter.
[[nodiscard]] std::optional<FieldDifference> first_difference(const json::value& one,
                                                              const json::value& other,
                                                              const std::string& path = {});

}  // namespace muster::rank_table
