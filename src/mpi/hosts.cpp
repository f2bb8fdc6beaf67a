// Names, slots and networks of the nodes of a job.
#include "base/endpoint.hpp"
#include "base/text.hpp"
#include "mpi/hosts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

namespace muster::mpi {
namespace {

constexpr int kBits = 32;
/// A network with fewer bits in common has the addresses of bridges and containers in it.
constexpr int kLeastBits = 8;

std::optional<std::uint32_t> number_of(const std::string& address) {
  const auto bytes = address_bytes(address);
  if (!bytes || bytes->size() != sizeof(std::uint32_t)) {
    return std::nullopt;
  }
  std::uint32_t number = 0;
  for (const char byte : *bytes) {
    number = number << 8U | static_cast<unsigned char>(byte);
  }
  return number;
}

std::string network(std::uint32_t address, int bits) {
  const std::uint32_t masked =
      bits == 0 ? 0 : address & ~std::uint32_t{0} << static_cast<unsigned>(kBits - bits);
  std::string text;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    text += (text.empty() ? "" : ".") + std::to_string(masked >> shift & 0xffU);
  }
  return text + "/" + std::to_string(bits);
}

}  // namespace

std::vector<std::string> name_apart(std::vector<std::string> names) {
  std::set<std::string> taken;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string& name = names[i];
    while (name.empty() || taken.contains(name)) {
      name.append(name.empty() ? "node" : "-node").append(std::to_string(i));
    }
    taken.insert({name, "localhost"});
  }
  return names;
}

std::vector<std::string> host_names(const std::vector<NodePorts>& nodes) {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const NodePorts& node : nodes) {
    names.push_back(node.name);
  }
  return name_apart(std::move(names));
}

std::string write_hostfile(const std::vector<NodePorts>& nodes) {
  const std::vector<std::string> names = host_names(nodes);
  std::string text;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    text.append(names[i]).append(" slots=").append(std::to_string(nodes[i].slots)).append("\n");
  }
  return text;
}

int find_in_hostfile(std::string_view hostfile, std::string_view host) {
  int line = 0;
  while (!hostfile.empty()) {
    if (hostfile.substr(0, hostfile.find_first_of(" \n")) == host) {
      return line;
    }
    ++line;
    const std::size_t end = hostfile.find('\n');
    hostfile.remove_prefix(end == std::string_view::npos ? hostfile.size() : end + 1);
  }
  return -1;
}

std::string common_networks(const std::vector<std::string>& addresses) {
  std::set<std::uint32_t> numbers;
  for (const std::string& address : addresses) {
    const auto number = number_of(address);
    if (!number) {
      return {};
    }
    numbers.insert(*number);
  }
  if (numbers.empty()) {
    return {};
  }
  const int common = std::countl_zero(*numbers.begin() ^ *numbers.rbegin());
  if (common >= kLeastBits) {
    return network(*numbers.begin(), common);
  }
  std::string list;
  for (const std::uint32_t number : numbers) {
    list += (list.empty() ? "" : ",") + network(number, kBits);
  }
  return list;
}

NamedInterfaces find_interfaces(std::string_view names, const std::vector<std::string>& here) {
  NamedInterfaces found;
  for (const std::string& name : split(names, ',')) {
    const bool is_here = std::find(here.begin(), here.end(), name) != here.end();
    std::string& list = is_here ? found.here : found.missing;
    if (!name.empty()) {
      list.append(list.empty() ? "" : ",").append(name);
    }
  }
  return found;
}

}  // namespace muster::mpi
