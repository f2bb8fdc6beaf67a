// Summarises tables, and finds the first difference of two summaries.
#include "rank_table/compare.hpp"

#include "base/encoding.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "rank_table/layout.hpp"
#include "rank_table/rank_table.hpp"
#include "rank_table/read.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace muster::rank_table {
namespace {

void append_sorted(std::string& out, const json::value& value);

/// Appends the fields sorted by name, so that their order in the text has no influence.
// NOLINTNEXTLINE(misc-no-recursion)
void append_fields(std::string& out, const json::object& object, std::string_view without) {
  std::vector<const json::key_value_pair*> fields;
  for (const auto& field : object) {
    if (field.key() != without) {
      fields.push_back(&field);
    }
  }
  std::ranges::sort(fields, [](const auto* one, const auto* other) { return one->key() < other->key(); });
  for (const auto* field : fields) {
    out += (field == fields.front() ? "" : ",") + json::serialize(field->key()) + ":";
    append_sorted(out, field->value());
  }
}

// NOLINTNEXTLINE(misc-no-recursion)
void append_sorted(std::string& out, const json::value& value) {
  if (const json::object* object = value.if_object()) {
    out += "{";
    append_fields(out, *object, {});
    out += "}";
  } else if (const json::array* array = value.if_array()) {
    out += "[";
    for (std::size_t i = 0; i < array->size(); ++i) {
      out += i == 0 ? "" : ",";
      append_sorted(out, (*array)[i]);
    }
    out += "]";
  } else {
    out += compact(value);
  }
}

std::string line_of(const json::object& object, std::string_view without) {
  std::string line = "{";
  append_fields(line, object, without);
  return line + "}";
}

/// The rank's own fields, and its server.
std::string line_of_rank(Form form, const InstancePlace& instance, const DevicePlace& device) {
  std::string line = "{";
  append_fields(line, *device.device, "rank_id");
  if (form != Form::Version2) {
    line += ",\"server_id\":" + json::serialize(text_of(*instance.instance, "server_id"));
  }
  return line + "}";
}

std::vector<std::string> lines_of_ranks(const Layout& layout) {
  std::multimap<int, std::string> ranks;
  for (const InstancePlace& instance : layout.instances) {
    for (const DevicePlace& device : instance.devices) {
      ranks.emplace(number_of(device.device->if_contains("rank_id")).value_or(-1),
                    line_of_rank(layout.form, instance, device));
    }
  }
  std::vector<std::string> lines;
  lines.reserve(ranks.size());
  for (auto& [rank, line] : ranks) {
    lines.push_back(std::move(line));
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

/// "device 3 of 10.0.0.1 (192.168.1.3, super device 7)".
std::string device_of(const json::object& rank) {
  std::vector<std::string> known;
  if (const std::string_view addresses = text_of(rank, "device_ip"); !addresses.empty()) {
    known.emplace_back(addresses);
  }
  if (const std::string_view id = text_of(rank, "super_device_id"); !id.empty()) {
    known.push_back("super device " + std::string(id));
  }
  const std::string_view server = text_of(rank, "server_id");
  const std::string host(server.empty() ? lowest_network(rank) : server);
  return "device " + plain_text(rank, "device_id") + (host.empty() ? "" : " of " + host) +
         (known.empty() ? "" : " (" + join(known, ", ") + ")");
}

/// The device of a line that a node has sent.
std::string device_of_line(const std::string& line) {
  return device_of(parse_object(line).value_or(json::object()));
}

}  // namespace

Summary summarise(std::string_view canonical) {
  Memory memory;
  json::object root = parse_again(canonical, memory);
  Breaches ignored(0);
  const Layout layout = lay_out(root, ignored);
  Summary summary;
  summary.version = text_of(root, "version");
  summary.ranks = lines_of_ranks(layout);
  if (layout.form != Form::Version2) {  // which has no servers
    summary.servers =
        mapped(layout.instances, [](const InstancePlace& place) { return line_of(*place.instance, "device"); });
  }
  summary.rest = line_of(root, layout.form == Form::Version2 ? "rank_list" : "server_list");
  summary.size = static_cast<int>(summary.ranks.size());
  summary.server_count = static_cast<int>(summary.servers.size());
  summary.digest = digest_of(join(summary.ranks, "\n") + "\n\n" + join(summary.servers, "\n") + "\n\n" + summary.rest);
  const std::size_t bytes = bytes_of(summary.ranks) + bytes_of(summary.servers) + summary.rest.size();
  const bool is_too_long = bytes > kMostLineBytes || bytes * summary.ranks.size() > kMostLineBytesOfAll;
  if (is_too_long) {
    summary.is_short = false;
    summary.ranks.clear();
    summary.servers.clear();
    summary.rest.clear();
  }
  return summary;
}

std::string describe_difference(const Summary& one, const std::string& name, const Summary& other,
                                const std::string& other_name) {
  const auto both = [&](const std::string& what, const std::string& here, const std::string& there) {
    return what + " " + here + " on " + name + " and " + there + " on " + other_name;
  };
  const auto both_counts = [&](int here, int there, std::string_view noun) {
    return both(here == 1 ? "there is" : "there are", count_of(static_cast<std::size_t>(here), noun),
                std::to_string(there));
  };
  if (one.digest == other.digest) {
    return {};
  }
  if (one.size != other.size) {
    return both_counts(one.size, other.size, "rank");
  }
  if (one.version != other.version) {
    return both("version is", one.version, other.version);
  }
  if (one.server_count != other.server_count) {
    return both_counts(one.server_count, other.server_count, "server");
  }
  const auto [here, there] = std::ranges::mismatch(one.ranks, other.ranks);
  const bool is_of_rank = one.is_short && other.is_short && here != one.ranks.end() && there != other.ranks.end();
  if (!is_of_rank) {
    return both("the digest of the whole table is", one.digest, other.digest);
  }
  const std::string rank = "rank " + std::to_string(here - one.ranks.begin());
  const std::string device = device_of_line(*here);
  const std::string other_device = device_of_line(*there);
  return device == other_device ? both("the digest of " + rank + " is", digest_of(*here), digest_of(*there))
                                : both(rank + " is", device, other_device);
}

}  // namespace muster::rank_table
