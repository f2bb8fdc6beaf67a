// Writes tables and documents as text.
#include "rank_table/rank_table.hpp"
#include "rank_table/rewrite.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace muster::rank_table {

// Prints on one line each value that contains no list or object, and each object with a rank.

namespace {

bool is_plain(const json::value& value) {
  return !value.is_object() && !value.is_array();
}

bool is_flat(const json::value& value) {
  if (const json::array* array = value.if_array()) {
    return std::all_of(array->begin(), array->end(), is_plain);
  }
  const json::object* object = value.if_object();
  return object == nullptr || object->contains("rank_id") ||
         std::all_of(object->begin(), object->end(), [](const auto& member) { return is_plain(member.value()); });
}

std::string decimal(double number) {
  constexpr int kDigits = 15;
  std::array<char, 32> text{};
  char* const end =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::general, kDigits).ptr;
  const std::string digits(text.data(), end);
  return digits + (digits.find_first_of(".e") == std::string::npos ? ".0" : "");
}

/// Finds numbers that the library writes as 1.5E-1. Texts that look alike have no influence.
bool has_decimal(std::string_view text) {
  for (std::size_t at = text.find('E'); at != std::string_view::npos; at = text.find('E', at + 1)) {
    if (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9') {
      return true;
    }
  }
  return false;
}

/// The parser limits the depth of documents.
// NOLINTNEXTLINE(misc-no-recursion)
void append(std::string& out, const json::value& value, std::size_t depth) {
  if (is_flat(value)) {
    out += compact(value);
    return;
  }
  bool is_first = true;
  const auto start_line = [&out, &is_first, depth] {
    out += std::exchange(is_first, false) ? "\n" : ",\n";
    out.append(2 * (depth + 1), ' ');
  };
  out += value.is_array() ? '[' : '{';
  if (const json::array* array = value.if_array()) {
    for (const json::value& item : *array) {
      start_line();
      append(out, item, depth + 1);
    }
  } else {
    for (const auto& member : value.get_object()) {
      start_line();
      out += json::serialize(member.key()) + ": ";
      append(out, member.value(), depth + 1);
    }
  }
  out += '\n';
  out.append(2 * depth, ' ');
  out += value.is_array() ? ']' : '}';
}

}  // namespace

// NOLINTNEXTLINE(misc-no-recursion)
std::string compact(const json::value& value) {
  std::string text = json::serialize(value);
  if (!has_decimal(text)) {
    return text;
  }
  if (const double* number = value.if_double()) {
    return decimal(*number);
  }
  std::string out;
  if (const json::array* array = value.if_array()) {
    for (const json::value& item : *array) {
      out += (out.empty() ? "" : ",") + compact(item);
    }
    return "[" + out + "]";
  }
  if (const json::object* object = value.if_object()) {
    for (const auto& member : *object) {
      out += (out.empty() ? "" : ",") + json::serialize(member.key()) + ":" + compact(member.value());
    }
    return "{" + out + "}";
  }
  return text;
}

std::string print(json::object&& root, std::size_t size) {
  const json::value document(std::move(root));
  std::string out;
  out.reserve(2 * size);  // untouched pages cost nothing, growing does
  append(out, document, 0);
  out += '\n';
  return out;
}

namespace {

json::object object_of(const Device& device) {
  json::object object;
  object["device_id"] = std::to_string(device.id);
  if (!device.addresses.empty()) {
    object["device_ip"] = device.addresses;
  }
  object["rank_id"] = std::to_string(device.rank);
  if (!device.super_device_id.empty()) {
    object["super_device_id"] = device.super_device_id;
  }
  return object;
}

/// Groups instances by host: HCCL wants each `server_id` once.
json::array servers_of(const Table& table) {
  json::array servers;
  std::map<std::string_view, std::size_t> found;
  for (const Instance& instance : table.instances) {
    if (instance.devices.empty()) {
      continue;
    }
    const auto [at, is_first] = found.try_emplace(instance.server_id, servers.size());
    if (is_first) {
      servers.push_back(json::object{{"server_id", instance.server_id}, {"device", json::array{}}});
    }
    json::array& devices = servers[at->second].get_object()["device"].get_array();
    for (const Device& device : instance.devices) {
      devices.push_back(object_of(device));
    }
  }
  return servers;
}

json::array pods_of(const Table& table) {
  json::array pods;
  for (const SuperPod& pod : table.super_pods) {
    json::array servers;
    for (const std::string& id : pod.server_ids) {
      servers.push_back(json::object{{"server_id", id}});
    }
    pods.push_back(json::object{{"super_pod_id", pod.id}, {"server_list", std::move(servers)}});
  }
  return pods;
}

}  // namespace

std::string write(const Table& table) {
  json::object root;
  json::array servers = servers_of(table);
  root["status"] = "completed";
  root["version"] = table.super_pods.empty() ? "1.0" : "1.2";
  root["server_count"] = std::to_string(servers.size());
  root["server_list"] = std::move(servers);
  if (!table.super_pods.empty()) {
    root["super_pod_list"] = pods_of(table);
  }
  return print(std::move(root));
}

}  // namespace muster::rank_table
