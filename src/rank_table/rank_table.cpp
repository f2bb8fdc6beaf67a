// Names of the forms.
#include "rank_table/rank_table.hpp"

namespace muster::rank_table {

std::string_view name_of(Form form) {
  switch (form) {
    case Form::Groups:
      return "v0.1 (group_list)";
    case Form::Standard:
      return "without a version (group_list with rank_id)";
    case Form::Version1:
      return "v1.0 (server_list)";
    case Form::SuperPods:
      return "v1.2 (super_pod_list)";
    case Form::Version2:
      return "v2.0 (rank_list)";
  }
  return "unknown";
}

}  // namespace muster::rank_table
