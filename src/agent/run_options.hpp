#pragma once

// Options of a run on this node. None of them changes what workers see.

#include "hang/questions.hpp"
#include "output/selection.hpp"
#include "process/inherited.hpp"
#include "remote/remote_agents.hpp"
#include "supervise/supervisor.hpp"

#include <chrono>
#include <optional>
#include <set>
#include <string>

namespace muster {

enum class When {
  Auto,
  Always,
  Never
};

/// When workers' lines on a console get a prefix.
enum class PrefixWhen {
  Auto,        ///< if the job has more than one worker
  OnTerminal,  ///< as Auto, but only on a terminal
  Always,
  Never
};

/// The workers that inherit standard input; others read /dev/null.
enum class InputFor {
  SingleWorker,  ///< none, where there are several workers
  ChosenWorker,
  All,  ///< shared
  None
};

/// Connection to the remote launcher that started this agent on its host.
struct LauncherInfo {
  int fd = -1;            ///< the launcher's orders arrive here
  std::string nonce;      ///< marks our control lines for the launcher
  std::string host;       ///< the launcher's name for this host
  bool is_first = false;  ///< this agent prints what concerns all nodes
  Terminals terminals;    ///< terminals of the launcher, where our output is shown
};

/// Task of this node for HAI, which announces a suspension to the job's first node alone.
struct HaiTask {
  std::string manager;       ///< host name of the task's manager; empty: unknown
  bool is_training = false;  ///< only training tasks are suspended and restarted
};

/// The cloud whose metadata server is polled for notices.
enum class Cloud {
  Aws,
  Gcp,
  Azure
};

/// Suspension of the job after a notice (docs/control.md).
struct SuspendOptions {
  std::optional<int> signal;         ///< a notice and not a stop request; empty: none
  std::optional<int> worker_signal;  ///< sent to the workers in addition to the notice file
  /// End of the allocation, as the platform says; empty: unknown.
  std::optional<std::chrono::system_clock::time_point> allocation_end;
  std::optional<std::chrono::milliseconds> before_end;  ///< a notice is given this long before the allocation ends
  std::optional<HaiTask> hai;                           ///< empty: not on HAI, or another node polls it
  std::optional<Cloud> watched;                         ///< empty: no cloud is polled

  /// Time until the allocation ends, less a margin for the exit; empty: the end is unknown.
  [[nodiscard]] std::optional<std::chrono::milliseconds> time_left() const;
};

/// Times after which something is done about a job that is quiet, and how (docs/hangs.md).
struct HangOptions {
  std::chrono::milliseconds report{60'000};    ///< it is reported; 0: never
  std::chrono::milliseconds timeout{0};        ///< its attempt ends if it hangs; 0: never
  std::chrono::milliseconds first_meeting{0};  ///< likewise, before its ranks have met; 0: never
  /// A worker fails that is in one uninterruptible system call for so long; 0: never.
  std::chrono::milliseconds call{0};
  std::string command;                                      ///< run when it is reported; empty: none
  std::set<hang::Question> asks = hang::usual_questions();  ///< that a look at the ranks may ask
};

/// Options of a run; none of them changes what workers see.
struct RunOptions {
  std::chrono::milliseconds grace{30'000};         ///< between stop signal and SIGKILL
  StopSignals stop_signals;                        ///< signals that ask the job to end
  std::chrono::milliseconds console_stall{5'000};  ///< a console that accepts no byte for this long is stalled
  Selection selection;                             ///< output shown on the console and written to files
  std::optional<Sourced<std::string>> events;      ///< file for the transitions of this node
  std::optional<Sourced<std::string>> trace;       ///< the same as a trace
  std::optional<Sourced<std::string>> metrics;     ///< address or file for the metrics of this node
  std::string log_dir;                             ///< empty, and files are wanted: a temporary directory
  LineFilter duplicate_out;                        ///< lines that also go to the node's filtered_stdout.log
  LineFilter duplicate_err;
  PrefixWhen prefix = PrefixWhen::Auto;
  PrefixTemplate prefix_template;  ///< empty: the rank
  When colour = When::Auto;        ///< Auto: on a terminal, unless NO_COLOR is set
  When terminals = When::Auto;     ///< whether workers write into ptys; Auto: where the output is shown on a terminal
  InputFor input_for = InputFor::SingleWorker;
  LocalRank input_rank{};  ///< for ChosenWorker
  SuspendOptions suspend;
  HangOptions hangs;
  std::string state_folder;  ///< of the job, kept between its runs; empty: not wanted
  std::string host_name;
  std::optional<LauncherInfo> launcher;  ///< empty: not started by a remote launcher

  /// True when something is written to files.
  [[nodiscard]] bool needs_files() const {
    return selection.needs_files() || !duplicate_out.is_empty() || !duplicate_err.is_empty();
  }
};

}  // namespace muster
