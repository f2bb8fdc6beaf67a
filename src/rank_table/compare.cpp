// Summarises tables, and finds the first difference of two summaries or two JSON values.
#include "rank_table/compare.hpp"

#include "base/encoding.hpp"
#include "base/text.hpp"
#include "rank_table/layout.hpp"
#include "rank_table/rank_table.hpp"

#include <algorithm>
#include <map>
#include <span>
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

/// Empty for form 2.0, which has no servers.
std::vector<std::string> lines_of_servers(const Layout& layout) {
  std::vector<std::string> lines;
  for (const InstancePlace& place : layout.instances) {
    if (layout.form != Form::Version2) {
      lines.push_back(line_of(*place.instance, "device"));
    }
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

/// Number of lines in a range; the last range may be shorter. Equal on all nodes with as many lines.
std::size_t width_of_range(std::size_t lines) {
  const std::size_t ranges = std::max(kLeastRanges, kMostDigests / std::max<std::size_t>(lines, 1));
  return (lines + ranges - 1) / ranges;
}

std::vector<std::string> digests_of(std::span<const std::string> lines) {
  std::vector<std::string> digests;
  const std::size_t width = width_of_range(lines.size());
  for (std::size_t first = 0; first < lines.size(); first += width) {
    const std::size_t count = std::min(width, lines.size() - first);
    digests.push_back(digest_of(join(lines.subspan(first, count), "\n")));
  }
  return digests;
}

/// Replaces the lines by digests.
Summary shortened(Summary summary) {
  if (summary.is_short) {
    summary.is_short = false;
    summary.ranks = digests_of(summary.ranks);
    summary.servers = digests_of(summary.servers);
    summary.rest = digest_of(summary.rest);
  }
  return summary;
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

/// Parses a line that a node has sent; empty where it is no JSON.
json::value read_line(const std::string& line) {
  return parse_object(line).value_or(json::object());
}

/// The first index at which they differ, including an element that only one of them has.
std::optional<std::size_t> first_unequal(const std::vector<std::string>& one, const std::vector<std::string>& other) {
  const auto at = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  const bool is_same = at.first == one.end() && at.second == other.end();
  return is_same ? std::nullopt : std::optional(static_cast<std::size_t>(at.first - one.begin()));
}

std::string part_of(const std::vector<std::string>& parts, std::size_t part) {
  return part < parts.size() ? parts[part] : "missing";
}

/// "the digest of rank 3 is", "the digest of ranks 0 to 2047 is".
std::string name_of_range(const std::string& noun, std::size_t range, std::size_t lines) {
  const std::size_t width = width_of_range(lines);
  const std::size_t first = range * width;
  const std::size_t last = std::min(first + width, lines) - 1;
  return "the digest of " + noun +
         (first == last ? " " + std::to_string(first) : "s " + std::to_string(first) + " to " + std::to_string(last)) +
         " is";
}

/// Compares two summaries of the same kind.
class Comparison {
 public:
  Comparison(const Summary& one, const std::string& name, const Summary& other, const std::string& other_name)
      : one_(one), name_(name), other_(other), other_name_(other_name) {}

  /// The first difference; empty: there is none.
  [[nodiscard]] std::string describe() const {
    for (const auto part :
         {&Comparison::of_sizes, &Comparison::of_ranks, &Comparison::of_servers, &Comparison::of_rest}) {
      if (std::string found = (this->*part)(); !found.empty()) {
        return found;
      }
    }
    return one_.digest == other_.digest ? "" : both("the digest of the whole table is", one_.digest, other_.digest);
  }

 private:
  [[nodiscard]] std::string both(const std::string& what, const std::string& here, const std::string& there) const {
    return what + " " + here + " on " + name_ + " and " + there + " on " + other_name_;
  }

  [[nodiscard]] std::string of_counts(int here, int there, std::string_view noun) const {
    return here == there ? ""
                         : both(here == 1 ? "there is" : "there are", count_of(static_cast<std::size_t>(here), noun),
                                std::to_string(there));
  }

  [[nodiscard]] std::string of_sizes() const {
    if (one_.size != other_.size) {
      return of_counts(one_.size, other_.size, "rank");
    }
    if (one_.version != other_.version) {
      return both("version is", one_.version, other_.version);
    }
    return of_counts(one_.server_count, other_.server_count, "server");
  }

  /// Describes the first field that differs.
  [[nodiscard]] std::string of_fields(const json::value& here, const json::value& there, const std::string& prefix,
                                      const std::string& suffix) const {
    const auto found = rank_table::first_difference(here, there);
    return found ? both(prefix + found->path + suffix + " is", found->here, found->there) : "";
  }

  [[nodiscard]] std::string of_ranks() const {
    const auto rank = first_unequal(one_.ranks, other_.ranks);
    if (!rank) {
      return {};
    }
    const std::string one = part_of(one_.ranks, *rank);
    const std::string other = part_of(other_.ranks, *rank);
    if (!one_.is_short) {
      return both(name_of_range("rank", *rank, static_cast<std::size_t>(one_.size)), one, other);
    }
    const json::value here = read_line(one);
    const json::value there = read_line(other);
    const std::string device = device_of(here.get_object());
    const std::string other_device = device_of(there.get_object());
    const std::string name = "rank " + std::to_string(*rank);
    return device == other_device ? of_fields(here, there, "", " of " + name)
                                  : both(name + " is", device, other_device);
  }

  [[nodiscard]] std::string of_servers() const {
    const auto server = first_unequal(one_.servers, other_.servers);
    if (!server) {
      return {};
    }
    const std::string one = part_of(one_.servers, *server);
    const std::string other = part_of(other_.servers, *server);
    return one_.is_short
               ? of_fields(read_line(one), read_line(other), "server_list[" + std::to_string(*server) + "].", "")
               : both(name_of_range("server", *server, static_cast<std::size_t>(one_.server_count)), one, other);
  }

  [[nodiscard]] std::string of_rest() const {
    if (one_.rest == other_.rest) {
      return {};
    }
    return one_.is_short ? of_fields(read_line(one_.rest), read_line(other_.rest), "", "")
                         : both("the digest of what is of no rank or server is", one_.rest, other_.rest);
  }

  const Summary& one_;
  const std::string& name_;
  const Summary& other_;
  const std::string& other_name_;
};

}  // namespace

Summary summarise(std::string_view canonical) {
  Memory memory;
  json::object root = parse_again(canonical, memory);
  Breaches ignored(0);
  const Layout layout = lay_out(root, ignored);
  Summary summary;
  summary.version = text_of(root, "version");
  summary.ranks = lines_of_ranks(layout);
  summary.servers = lines_of_servers(layout);
  summary.rest = line_of(root, layout.form == Form::Version2 ? "rank_list" : "server_list");
  summary.size = static_cast<int>(summary.ranks.size());
  summary.server_count = static_cast<int>(summary.servers.size());
  summary.digest = digest_of(join(summary.ranks, "\n") + "\n\n" + join(summary.servers, "\n") + "\n\n" + summary.rest);
  const std::size_t bytes = bytes_of(summary.ranks) + bytes_of(summary.servers) + summary.rest.size();
  const bool is_too_long = bytes > kMostLineBytes || bytes * summary.ranks.size() > kMostLineBytesOfAll;
  return is_too_long ? shortened(std::move(summary)) : summary;
}

std::string describe_difference(const Summary& one, const std::string& name, const Summary& other,
                                const std::string& other_name) {
  if (one.is_short != other.is_short) {
    return Comparison(shortened(one), name, shortened(other), other_name).describe();
  }
  return Comparison(one, name, other, other_name).describe();
}

// Finds the first difference of two JSON values. The parser limits the depth of documents.

namespace {

std::string value_of(const json::value* value) {
  return value == nullptr ? "missing" : written(value);
}

// NOLINTNEXTLINE(misc-no-recursion)
std::optional<FieldDifference> difference_of_objects(const json::object& one, const json::object& other,
                                                     const std::string& path) {
  const std::string prefix = path + (path.empty() ? "" : ".");
  for (const auto& member : one) {
    const json::value* there = other.if_contains(member.key());
    const std::string name = prefix + std::string(member.key());
    if (there == nullptr) {
      return FieldDifference{name, value_of(&member.value()), value_of(nullptr)};
    }
    if (auto found = first_difference(member.value(), *there, name)) {
      return found;
    }
  }
  for (const auto& member : other) {
    if (!one.contains(member.key())) {
      return FieldDifference{prefix + std::string(member.key()), value_of(nullptr), value_of(&member.value())};
    }
  }
  return std::nullopt;
}

// NOLINTNEXTLINE(misc-no-recursion)
std::optional<FieldDifference> difference_of_arrays(const json::array& one, const json::array& other,
                                                    const std::string& path) {
  for (std::size_t i = 0; i < std::max(one.size(), other.size()); ++i) {
    const std::string name = path + "[" + std::to_string(i) + "]";
    const json::value* here = one.if_contains(i);
    const json::value* there = other.if_contains(i);
    if (here == nullptr || there == nullptr) {
      return FieldDifference{name, value_of(here), value_of(there)};
    }
    if (auto found = first_difference(*here, *there, name)) {
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace

// NOLINTNEXTLINE(misc-no-recursion)
std::optional<FieldDifference> first_difference(const json::value& one, const json::value& other,
                                                const std::string& path) {
  if (one.is_object() && other.is_object()) {
    return difference_of_objects(one.get_object(), other.get_object(), path);
  }
  if (one.is_array() && other.is_array()) {
    return difference_of_arrays(one.get_array(), other.get_array(), path);
  }
  return one == other ? std::nullopt : std::optional(FieldDifference{path, value_of(&one), value_of(&other)});
}

}  // namespace muster::rank_table
