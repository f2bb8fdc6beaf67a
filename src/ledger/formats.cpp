// Writes the time ledger in the formats of others.
#include "ledger/formats.hpp"

#include "base/console_time.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

#include <array>
#include <cmath>

namespace muster::ledger {
namespace {

struct KindNames {
  const char* name;
  const char* number;  ///< name of Event::number
};

constexpr std::array<KindNames, 16> kKinds = {{{"joining", ""},
                                               {"attempt started", "workers"},
                                               {"worker started", "pid"},
                                               {"first output", ""},
                                               {"all ranks met", ""},
                                               {"failed", ""},
                                               {"stop sent", "signal"},
                                               {"kill sent", ""},
                                               {"worker ended", "code"},
                                               {"stalled", ""},
                                               {"notice", ""},
                                               {"attempt over", ""},
                                               {"caches filled", "entries"},
                                               {"caches kept", "entries"},
                                               {"files read ahead", "files"},
                                               {"job ended", "code"}}};

const KindNames& names_of(Kind kind) {
  return kKinds.at(static_cast<std::size_t>(kind));
}

std::string quoted(const std::string& text) {
  return json::serialize(json::value(valid_utf8(text)));
}

std::string microseconds(double seconds) {
  return std::to_string(std::llround(seconds * 1e6));
}

/// The members besides kind and time.
std::string details(const Event& event) {
  std::string text;
  if (event.number) {
    text += ",\"" + std::string(names_of(event.kind).number) + "\":" + std::to_string(*event.number);
  }
  if (event.memory_peak) {
    text += ",\"memory_peak\":" + std::to_string(*event.memory_peak);
  }
  return text + (event.text.empty() ? "" : ",\"text\":" + quoted(event.text));
}

// The trace.

/// The agent is the first thread of its node's process, and ranks follow. Viewers take no number 0.
constexpr int kAgentThread = 1;

std::string place(int node, int thread) {
  return ",\"pid\":" + std::to_string(node + 1) + ",\"tid\":" + std::to_string(thread);
}

std::string trace_name(const char* what, int node, int thread, const std::string& name) {
  return R"({"ph":"M","ts":0,"name":")" + std::string(what) + "\"" + place(node, thread) +
         ",\"args\":{\"name\":" + quoted(name) + "}},\n";
}

// Prometheus.

/// A value of a label: the text format wants a backslash before these.
std::string label_value(const std::string& text) {
  std::string escaped;
  for (const char byte : valid_utf8(text)) {
    if (byte == '\\' || byte == '"') {
      escaped += '\\';
    }
    escaped += byte == '\n' ? std::string("\\n") : std::string(1, byte);
  }
  return "\"" + escaped + "\"";
}

std::string heading(const std::string& name, const char* type, const char* help) {
  return "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

std::string metric(const std::string& name, const char* type, const char* help, const std::string& value) {
  return heading(name, type, help) + name + " " + value + "\n";
}

std::string of_phases(const std::string& name, const char* help, const auto& value) {
  std::string text = heading(name, "gauge", help);
  for (std::size_t i = 0; i < kPhases; ++i) {
    const auto phase = static_cast<Phase>(i);
    text += name + "{phase=\"" + name_of(phase) + "\"} " + value(phase) + "\n";
  }
  return text;
}

std::string of_ranks(const std::string& name, const char* help, const std::vector<RankState>& ranks,
                     const auto& value) {
  std::string text;
  for (const RankState& rank : ranks) {
    if (const std::string number = value(rank); !number.empty()) {
      text.append(name).append("{rank=\"").append(std::to_string(rank.rank)).append("\"} ").append(number).append("\n");
    }
  }
  return text.empty() ? text : heading(name, "gauge", help) + text;
}

}  // namespace

std::string to_json_line(const Event& event) {
  const std::chrono::duration<double> since_epoch(event.wall);
  const WallTime time(std::chrono::round<std::chrono::milliseconds>(since_epoch));
  return "{\"time\":\"" + utc_text_with_milliseconds(time) + "\",\"wall\":" + std::to_string(event.wall) +
         ",\"monotonic\":" + std::to_string(event.monotonic) + ",\"event\":\"" + names_of(event.kind).name +
         "\",\"node\":" + std::to_string(event.node) + ",\"attempt\":" + std::to_string(event.attempt) +
         (event.rank ? ",\"rank\":" + std::to_string(*event.rank) : "") + details(event) + "}\n";
}

std::string to_trace(const Event& event, const std::optional<Span>& ended) {
  const int thread = event.rank ? kAgentThread + 1 + *event.rank : kAgentThread;
  const std::string here = place(event.node, thread);
  const std::string time = ",\"ts\":" + microseconds(event.monotonic);
  std::string text;
  if (ended) {
    text += R"({"ph":"X","name":")" + std::string(name_of(ended->phase)) + "\"" + place(event.node, kAgentThread) +
            ",\"ts\":" + microseconds(ended->begin) + ",\"dur\":" + microseconds(ended->end - ended->begin) + "},\n";
  }
  if (event.kind == Kind::AttemptStarted) {  // of any attempt: the node may be new, or have another rank
    text += trace_name("process_name", event.node, kAgentThread, "node " + std::to_string(event.node)) +
            trace_name("thread_name", event.node, kAgentThread, "agent");
  }
  if (event.kind == Kind::WorkerStarted) {
    text += trace_name("thread_name", event.node, thread, "rank " + std::to_string(event.rank.value_or(0))) +
            R"({"ph":"B","name":"attempt )" + std::to_string(event.attempt) + "\"" + here + time + "},\n";
  }
  text += R"({"ph":"i","s":"t","name":")" + std::string(names_of(event.kind).name) + "\"" + here + time +
          ",\"args\":{\"attempt\":" + std::to_string(event.attempt) + details(event) + "}}";
  if (event.kind == Kind::WorkerEnded) {
    text += ",\n" + (R"({"ph":"E","name":"attempt )" + std::to_string(event.attempt)) + "\"" + here + time + "}";
  }
  return text + (event.kind == Kind::JobEnded ? "\n]\n" : ",\n");
}

std::string to_prometheus(const Ledger& ledger, double now, const Names& names, const std::vector<RankState>& ranks,
                          const std::map<std::string, std::uint64_t>& asked) {
  std::string questions =
      heading("muster_questions_total", "counter", "Questions about the ranks of this node, see --hang-ask.");
  for (const auto& [name, times] : asked) {
    questions += "muster_questions_total{question=" + label_value(name) + "} " + std::to_string(times) + "\n";
  }
  return heading("muster_info", "gauge", "The job, this node, and muster's version.") +
         "muster_info{job=" + label_value(names.job) + ",host=" + label_value(names.host) +
         ",version=" + label_value(names.version) + "} 1\n" +
         of_phases("muster_phase", "1 for the phase of the job.",
                   [&](Phase phase) { return std::string(phase == ledger.phase() ? "1" : "0"); }) +
         of_phases("muster_phase_seconds", "Time in each phase so far.",
                   [&](Phase phase) { return std::to_string(ledger.seconds(phase, now)); }) +
         metric("muster_restarts_total", "counter", "Attempts after the first one.",
                std::to_string(ledger.restarts())) +
         metric("muster_restart_lost_seconds_total", "counter", "Time from failures until the next attempt ran.",
                std::to_string(ledger.seconds(Phase::Restarting, now))) +
         metric("muster_ranks_alive", "gauge", "Workers of this node that run.", std::to_string(ledger.alive())) +
         questions +
         of_ranks("muster_rank_output_age_seconds", "Time since the rank last wrote something.", ranks,
                  [](const RankState& rank) { return rank.output_age ? std::to_string(*rank.output_age) : ""; }) +
         of_ranks("muster_rank_step", "Step that the rank's program last told by progress().", ranks,
                  [](const RankState& rank) { return rank.step ? std::to_string(*rank.step) : ""; });
}

}  // namespace muster::ledger
