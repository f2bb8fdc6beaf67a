#pragma once

// What the nodes of a job tell each other about rank tables: what their tables say, so that all are known
// to be the same; or, where there is none, what each node has, of which one table is made for all.

#include <muster/gang/exchange.hpp>
#include <muster/rank_table/compare.hpp>
#include <muster/rank_table/rank_table.hpp>

#include <string>

namespace muster {

/// The key "rank_table". What `write_summary` or `write_server` has written on each node becomes the digest
/// of the table that all have, or the text of the one that is made of their servers.
[[nodiscard]] gang::ExchangeKey rank_table_key();

[[nodiscard]] std::string write_summary(const rank_table::Summary& summary);

/// Where its `server_id` is empty it becomes the address that the others reach; `host` where that is one of
/// this machine alone.
[[nodiscard]] std::string write_server(const rank_table::Instance& server, const std::string& host);

}  // namespace muster
