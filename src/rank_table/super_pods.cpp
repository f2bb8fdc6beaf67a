// `super_pod_list` of form 1.2.
#include "rank_table/layout.hpp"

namespace muster::rank_table {

void add_super_pods(const json::object& root, Table& table) {
  const json::array* pods = array_of(root, "super_pod_list");
  if (table.form != Form::SuperPods || pods == nullptr) {
    return;
  }
  for (const json::value& item : *pods) {
    if (!item.is_object()) {
      continue;
    }
    const json::object& pod = item.get_object();
    table.super_pods.push_back({plain_text(pod, "super_pod_id"), {}});
    const json::array* servers = array_of(pod, "server_list");
    for (std::size_t i = 0; servers != nullptr && i < servers->size(); ++i) {
      if (const json::object* server = (*servers)[i].if_object()) {
        table.super_pods.back().server_ids.emplace_back(text_of(*server, "server_id"));
      }
    }
  }
}

}  // namespace muster::rank_table
