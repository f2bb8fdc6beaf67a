// The topology that Volcano's controller writes for ROUTE_PLAN, as a stranger may have written it.
#include "base/base64.hpp"
#include "base/compress.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "rank_table/route_plan.hpp"

#include <algorithm>
#include <cctype>
#include <set>

namespace muster::rank_table {
namespace {

/// What can be in a ConfigMap, with room to spare, and twice the topology of 131,072 devices.
constexpr std::size_t kMostText = std::size_t{4} << 20U;
constexpr std::size_t kMostDocument = std::size_t{32} << 20U;

Error wrong(const std::string& name, const std::string& what) {
  return Error{ErrorKind::BadData, "the topology '" + name + "' " + what};
}

Error unknown_form(const std::string& name, const std::string& what) {
  return wrong(name, "has an unknown form: " + what);
}

/// Empty: it is not there, or no text.
std::string text_at(const json::object& object, std::string_view key) {
  const json::value* const value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

const json::array* find_array(const json::object& object, std::string_view key) {
  const json::value* const value = object.if_contains(key);
  return value != nullptr ? value->if_array() : nullptr;
}

/// The switches of a server's devices as one name; empty: one of them has none.
std::string switches_of(const json::object& server) {
  const json::array* const devices = find_array(server, "device");
  std::set<std::string> switches;
  for (const json::value& device : devices != nullptr ? *devices : json::array()) {
    const json::object* const one = device.if_object();
    switches.insert(one != nullptr ? text_at(*one, "tor_ip") : "");
  }
  const bool is_whole = !switches.empty() && switches.count("") == 0;
  return is_whole ? join(std::vector<std::string>(switches.begin(), switches.end()), "+") : "";
}

TopologyReading read_servers(const json::array& servers, const std::string& name) {
  SwitchPaths paths;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const json::object* const server = servers[i].if_object();
    const std::string switches = server != nullptr ? switches_of(*server) : "";
    const std::string id = server != nullptr ? text_at(*server, "server_id") : "";
    if (switches.empty() || id.empty()) {
      return unknown_form(
          name,
          "server_list[" + std::to_string(i) + "] lacks a server_id or a tor_ip of each device");
    }
    const std::vector<std::string> path = {switches};
    if (paths.emplace(id, path).first->second != path) {
      return wrong(name, "has different switches for the server '" + one_line(id, 100) + "'");
    }
  }
  return paths;
}

/// Base64 so far, of what begins as gzip does. What is not that need not be waited for.
bool may_be_packed(std::string_view letters) {
  constexpr std::string_view kStart = "H4sI";  // the first three bytes that gzip writes
  const bool is_base64 = std::all_of(letters.begin(), letters.end(), [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
           std::string_view("+/= \t\r\n").find(letter) != std::string_view::npos;
  });
  return is_base64 && kStart.starts_with(letters.substr(0, kStart.size()));
}

}  // namespace

TopologyReading read_topology(std::string_view document, const std::string& name) {
  boost::system::error_code torn;
  const json::value parsed = json::parse(document, torn);
  if (torn) {
    return unknown_form(name, "it is no JSON");  // what was packed is whole
  }
  const json::object* const topology = parsed.if_object();
  if (topology == nullptr) {
    return unknown_form(name, "it is no JSON object");
  }
  const std::string status = text_at(*topology, "status");
  if (status != "completed") {
    return Unfinished{status.empty() ? "without a status" : one_line(status, 60)};
  }
  const json::array* const servers = find_array(*topology, "server_list");
  return servers != nullptr ? read_servers(*servers, name)
                            : TopologyReading(unknown_form(name, "it has no server_list"));
}

TopologyReading decode_topology(std::string_view text, const std::string& name) {
  if (text.size() > kMostText) {
    return wrong(name, "has more than " + std::to_string(kMostText) + " bytes");
  }
  const std::string_view letters = trim(text);
  if (letters.empty()) {
    return Unfinished{"empty"};
  }
  if (!may_be_packed(letters)) {
    return unknown_form(name, "it is no base64 of what gzip packs");
  }
  const auto packed = decode_base64(letters);
  if (!packed || packed->empty()) {
    return Unfinished{"torn"};
  }
  const auto document = unpack_gzip(*packed, kMostDocument);
  if (!document) {
    return wrong(name, document.error().message);
  }
  return *document ? read_topology(**document, name) : TopologyReading(Unfinished{"torn"});
}

}  // namespace muster::rank_table
