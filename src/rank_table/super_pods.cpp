// `super_pod_list` of form 1.2.
#include "rank_table/layout.hpp"

namespace muster::rank_table {

void add_super_pods(const json::object& root, Table& table) {
  if (table.form != Form::SuperPods) {
    return;
  }
  for_each_object(array_of(root, "super_pod_list"), [&table](const json::object& pod) {
    table.super_pods.push_back({plain_text(pod, "super_pod_id"), {}});
    std::vector<std::string>& ids = table.super_pods.back().server_ids;
    for_each_object(array_of(pod, "server_list"), [&ids](const json::object& server) {
      ids.emplace_back(text_of(server, "server_id"));
    });
  });
}

}  // namespace muster::rank_table
