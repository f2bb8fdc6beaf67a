#pragma once

// The formats in which others read the time ledger: lines of JSON, a trace, a page of metrics. Pure.

#include "ledger/ledger.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster::ledger {

/// One line of the file of --events.
std::string to_json_line(const Event& event);

/// The text with which a trace begins.
inline constexpr const char* kTraceBegin = "[\n";
/// The lines of an event in Chrome's trace format, whose list may lack its end: each node is a process, its agent and
/// each rank are threads. `ended`: the phase that the event ended. The last event ends the list.
std::string to_trace(const Event& event, const std::optional<Span>& ended);

/// Names of the job and of this node.
struct Names {
  std::string job;  ///< its id; empty: none
  std::string host;
  std::string version;
};

/// State of a living rank.
struct RankState {
  int rank = 0;
  std::optional<double> output_age;  ///< seconds since its last output; empty: none yet
  std::optional<std::int64_t> step;  ///< last argument of progress()
};

/// The metrics in the text format of Prometheus. `now`: seconds of CLOCK_MONOTONIC. `asked`: how often each question
/// about the ranks was asked, by its name.
std::string to_prometheus(const Ledger& ledger, double now, const Names& names, const std::vector<RankState>& ranks,
                          const std::map<std::string, std::uint64_t>& asked);

}  // namespace muster::ledger
