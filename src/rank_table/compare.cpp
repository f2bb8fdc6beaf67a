// Summaries of tables, and where two of them differ.
#include <muster/base/digest.hpp>
#include <muster/base/text.hpp>
#include <muster/rank_table/compare.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <span>

namespace muster::rank_table {
namespace {

/// "device 3 of 10.0.0.1 (192.168.1.3, super device 7), pod job-worker-0"; form 2.0 names no server.
std::string describe(const Instance& instance, const Device& device) {
  std::vector<std::string> known;
  if (!device.addresses.empty()) {
    known.push_back(device.addresses);
  }
  if (!device.super_device_id.empty()) {
    known.push_back("super device " + device.super_device_id);
  }
  return "device " + std::to_string(device.id) +
         (instance.server_id.empty() ? "" : " of " + instance.server_id) +
         (known.empty() ? "" : " (" + join(known, ", ") + ")") +
         (instance.pod_name.empty() ? "" : ", pod " + instance.pod_name);
}

/// What each rank is, by rank.
std::vector<std::string> describe_ranks(const Table& table) {
  std::multimap<int, std::string> ranks;
  for (const Instance& instance : table.instances) {
    for (const Device& device : instance.devices) {
      ranks.emplace(device.rank, describe(instance, device));
    }
  }
  std::vector<std::string> lines;
  lines.reserve(ranks.size());
  for (auto& [rank, line] : ranks) {
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> describe_super_pods(const Table& table) {
  std::vector<std::string> lines;
  for (const SuperPod& pod : table.super_pods) {
    lines.push_back("super pod " + pod.id + " of " + join(pod.server_ids, ", "));
  }
  return lines;
}

std::size_t bytes_of(const std::vector<std::string>& lines) {
  std::size_t bytes = 0;
  for (const std::string& line : lines) {
    bytes += line.size();
  }
  return bytes;
}

/// Of a range, but for the last one.
std::size_t width_of_range(std::size_t ranks) {
  return (ranks + kMostRanges - 1) / kMostRanges;
}

std::vector<std::string> digests_of(std::span<const std::string> lines, std::size_t width) {
  std::vector<std::string> digests;
  for (std::size_t first = 0; first < lines.size(); first += width) {
    const std::size_t count = std::min(width, lines.size() - first);
    digests.push_back(digest_of(join(lines.subspan(first, count), "\n")));
  }
  return digests;
}

/// A part that only one of them has is a difference, too.
std::optional<std::size_t> first_difference(const std::vector<std::string>& one,
                                            const std::vector<std::string>& other) {
  const auto at = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  const bool is_same = at.first == one.end() && at.second == other.end();
  return is_same ? std::nullopt : std::optional(static_cast<std::size_t>(at.first - one.begin()));
}

/// "rank 3 is ", "the digest of ranks 0 to 2047 is ".
std::string name_of_part(std::size_t part, const Summary& summary) {
  if (summary.is_short) {
    return "rank " + std::to_string(part) + " is ";
  }
  const auto size = static_cast<std::size_t>(summary.size);
  const std::size_t width = width_of_range(size);
  return "the digest of ranks " + std::to_string(part * width) + " to " +
         std::to_string(std::min((part + 1) * width, size) - 1) + " is ";
}

std::string name_of_pod(std::size_t part, const Summary& summary) {
  return summary.is_short ? "super_pod_list[" + std::to_string(part) + "] is "
                          : "the digest of super_pod_list is ";
}

std::string part_of(const std::vector<std::string>& parts, std::size_t part) {
  return part < parts.size() ? parts[part] : "missing";
}

}  // namespace

Summary summarise(const Table& table, std::string_view canonical) {
  Summary summary{
      table.size, digest_of(canonical), true, describe_ranks(table), describe_super_pods(table)};
  if (bytes_of(summary.ranks) + bytes_of(summary.super_pods) > kMostLineBytes) {
    summary.is_short = false;
    summary.ranks = digests_of(summary.ranks, width_of_range(summary.ranks.size()));
    summary.super_pods = digests_of(summary.super_pods, summary.super_pods.size());
  }
  return summary;
}

std::string describe_difference(const Summary& one,
                                const std::string& name,
                                const Summary& other,
                                const std::string& other_name) {
  const auto both =
      [&](const std::string& what, const std::string& here, const std::string& there) {
        return what + here + " on " + name + " and " + there + " on " + other_name;
      };
  if (one.size != other.size) {
    return both("there are ",
                count_of(static_cast<std::size_t>(one.size), "rank"),
                std::to_string(other.size));
  }
  if (one.is_short == other.is_short) {
    if (const auto rank = first_difference(one.ranks, other.ranks)) {
      return both(name_of_part(*rank, one), part_of(one.ranks, *rank), part_of(other.ranks, *rank));
    }
    if (const auto pod = first_difference(one.super_pods, other.super_pods)) {
      return both(
          name_of_pod(*pod, one), part_of(one.super_pods, *pod), part_of(other.super_pods, *pod));
    }
  }
  return one.digest == other.digest
             ? std::string()
             : both("the digest of the whole table is ", one.digest, other.digest);
}

}  // namespace muster::rank_table
