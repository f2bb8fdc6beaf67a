#pragma once

// Events and actions in words, so that a test reads as a scenario.

#include "supervise/supervisor.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

namespace muster {

inline std::string to_text(const Action& action) {
  struct Words {
    std::string operator()(const StartWorkers&) const { return "start workers"; }
    std::string operator()(const ReportFailure& tell) const {
      return "failure of " + (tell.worker ? std::to_string(*tell.worker) : "a service");
    }
    std::string operator()(const ReportSuccess& tell) const {
      return (tell.worker ? "success of " + std::to_string(*tell.worker) : "nobody decides") +
             (tell.is_last ? ", the last" : "");
    }
    std::string operator()(const CancelStart&) const { return "cancel start"; }
    std::string operator()(const SendStopSignal& ask) const { return "send stop signal " + signal_name(ask.signal); }
    std::string operator()(const StopOrphans&) const { return "stop orphans"; }
    std::string operator()(const StartGrace&) const { return "start grace"; }
    std::string operator()(const TellGrace& tell) const {
      return (tell.is_repeated ? "tell grace at " : "tell grace at the first ") + signal_name(tell.signal);
    }
    std::string operator()(const KillEverything&) const { return "kill everything"; }
    std::string operator()(const Finish&) const { return "finish"; }
  };
  return std::visit(Words{}, action);
}

inline bool is_told(const Action& action) {
  return std::holds_alternative<ReportFailure>(action) || std::holds_alternative<ReportSuccess>(action);
}

/// Actions on the workers: "cancel start, send stop signal SIGTERM, start grace".
inline std::string to_text(const std::vector<Action>& actions) {
  std::string text;
  for (const Action& action : actions) {
    text += is_told(action) ? "" : (text.empty() ? "" : ", ") + to_text(action);
  }
  return text;
}

/// Reports to the job: "success of 3, the last".
inline std::string told(const std::vector<Action>& actions) {
  std::string text;
  for (const Action& action : actions) {
    text += is_told(action) ? (text.empty() ? "" : "; ") + to_text(action) : "";
  }
  return text;
}

inline WorkerEnded succeeded(std::size_t worker) {
  return {worker, ExitStatus::exited(0)};
}
inline WorkerEnded failed(std::size_t worker, int code) {
  return {worker, ExitStatus::exited(code)};
}
inline WorkerEnded killed(std::size_t worker, int signal) {
  return {worker, ExitStatus::signalled(signal)};
}

/// A supervisor of workers that have been started, all of which decide.
inline Supervisor running(std::vector<bool> decides_success) {
  Supervisor supervisor(std::move(decides_success));
  (void)supervisor.start();
  return supervisor;
}
inline Supervisor running(std::size_t workers) {
  return running(std::vector<bool>(workers, true));
}

}  // namespace muster
