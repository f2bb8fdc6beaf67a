// Reports of the nodes about the ways to start ranks of MPI, and what comes of them: see the header.
#include "base/json.hpp"
#include "base/text.hpp"
#include "exchange/exchanged_ways.hpp"

#include <algorithm>

namespace muster {
namespace {

constexpr std::size_t kMostBytesOfNode = 8'192;
constexpr std::size_t kMostMergedBytes = std::size_t{64} << 10U;

using Reports = std::vector<MethodReport>;

Result<Reports> read_ways(const gang::NodePart& part) {
  try {
    Reports reports;
    const json::value document = json::parse({part.bytes.data(), part.bytes.size()});
    for (const json::value& item : document.as_array()) {
      const json::object& report = item.as_object();
      reports.push_back({json::value_to<std::string>(report.at("way")),
                         json::value_to<std::string>(report.at("why_not"))});
    }
    return reports;
  } catch (const std::exception&) {  // Boost.JSON's way to say it
    return Error{ErrorKind::System, "of node " + to_string(part.node) + " are missing or torn"};
  }
}

/// Where the way does not work first; empty: it works everywhere.
std::string find_refusal(std::size_t way, const std::vector<Reports>& nodes) {
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const MethodReport& report = nodes[node].at(way);
    if (!report.why_not.empty()) {
      return report.way + " does not work on node " + std::to_string(node) + ": " + report.why_not;
    }
  }
  return {};
}

Result<std::string> agree(const std::vector<gang::NodePart>& parts) {
  std::vector<Reports> nodes;
  for (const gang::NodePart& part : parts) {
    auto reports = read_ways(part);
    if (!reports) {
      return reports.error();
    }
    if (!nodes.empty() && reports->size() != nodes.front().size()) {
      return Error{
          ErrorKind::BadData,
          "the nodes were given different --mpi-start, or options for mpirun: node 0 has " +
              std::to_string(nodes.front().size()) + " ways, node " + to_string(part.node) +
              " has " + std::to_string(reports->size())};
    }
    nodes.push_back(std::move(*reports));
  }
  std::vector<std::string> why_not;
  for (std::size_t way = 0; !nodes.empty() && way < nodes.front().size(); ++way) {
    std::string refusal = find_refusal(way, nodes);
    if (refusal.empty()) {
      return json::serialize(
          json::object{{"index", way}, {"why_not", json::array(why_not.begin(), why_not.end())}});
    }
    why_not.push_back(std::move(refusal));
  }
  return Error{ErrorKind::BadData,
               "no way to start ranks of MPI works on all nodes: " + join(why_not, "; ")};
}

}  // namespace

gang::ExchangeKey ways_key() {
  return {"mpi_ways", gang::Phase::BeforeStart, kMostBytesOfNode, kMostMergedBytes, agree};
}

std::string write_ways(const Reports& reports) {
  json::array all;
  for (const MethodReport& report : reports) {
    all.push_back(json::object{{"way", report.way}, {"why_not", report.why_not}});
  }
  return json::serialize(all);
}

Result<AgreedMethod> read_agreed_way(std::string_view merged) {
  try {
    const json::object document = json::parse({merged.data(), merged.size()}).as_object();
    return AgreedMethod{json::value_to<std::size_t>(document.at("index")),
                        json::value_to<std::vector<std::string>>(document.at("why_not"))};
  } catch (const std::exception&) {  // Boost.JSON's way to say it
    return Error{ErrorKind::BadData, "the way to start ranks of MPI is torn"};
  }
}

}  // namespace muster
