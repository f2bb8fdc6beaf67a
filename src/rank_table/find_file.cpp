// Where the file of a rank table is.
// Source: ModelArts, boot files of custom Ascend images; MindCluster, ascend-operator.
#include "rank_table/local_instance.hpp"

namespace muster::rank_table {

std::optional<Sourced<std::string>> find_table_file(const Snapshot& snapshot) {
  for (const char* const name : {"RANK_TABLE_FILE_V_1_0", "RANK_TABLE_FILE"}) {
    auto given = sourced_variable(snapshot, name);
    if (given && !given->value.empty()) {
      return given;
    }
  }
  if (!snapshot.rank_table.empty()) {
    return Sourced<std::string>{snapshot.rank_table,
                                {SourceKind::File, "where controllers put it"}};
  }
  if (snapshot.has("MA_NUM_HOSTS") || snapshot.has("MA_VJ_NAME")) {  // there it will be
    return Sourced<std::string>{kRankTablePlaces.front(), default_of("modelarts")};
  }
  return std::nullopt;
}

}  // namespace muster::rank_table
