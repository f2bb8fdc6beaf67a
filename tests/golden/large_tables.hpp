#pragma once

// Rank tables that are too large for files: the same devices in each form. Unit tests convert them, golden cases
// plan by them.

#include <string>
#include <string_view>

namespace muster::golden {

/// Every server with so many devices, in one pod or more. Servers are 10.0.0.1 and so on, their devices have the
/// addresses 192.168.0.100 and so on, and pods are job-worker-0 and so on.
struct Shape {
  int servers = 64;
  int devices = 8;
};

/// 1.0, written as `rank_table::rewrite` writes: it is its own conversion.
std::string version1(const Shape& shape);
/// 1.2 with two super pods, each of one half of the servers. Its own conversion, too.
std::string super_pods(const Shape& shape);
/// 2.0, with the same super pods as a layer of the network. Its own conversion, too.
std::string version2(const Shape& shape);
/// v0.1, pods in the order of their names as text, which is none of their numbers. Becomes `version1`.
std::string groups(const Shape& shape, int pods_per_server);
/// The form without a version. Becomes `version1`.
std::string standard(const Shape& shape);

/// By the word that golden cases have for it: groups, standard, 1.0, 1.2 or 2.0; empty: it is none of them.
std::string large_table(std::string_view form, const Shape& shape);

}  // namespace muster::golden
