#pragma once

// Options of a run on this node.

#include "base/console_time.hpp"
#include "base/when.hpp"
#include "process/inherited.hpp"
#include "run/cache_options.hpp"
#include "run/hang_options.hpp"
#include "run/read_ahead_options.hpp"
#include "run/selection.hpp"
#include "run/standby_options.hpp"
#include "run/suspend_options.hpp"
#include "supervise/supervisor.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>

namespace muster {

/// When workers' lines on a console get a prefix.
enum class PrefixWhen {
  Auto,        ///< if the job has more than one worker
  OnTerminal,  ///< as Auto, but only on a terminal
  Always,
  Never
};

/// The workers that inherit standard input; others read /dev/null.
enum class InputFor {
  SingleWorker,  ///< the only worker; none, if there are several
  ChosenWorker,
  All,  ///< shared
  None
};

/// The streams that are terminals, with their width in columns; 0: unknown.
struct Terminals {
  std::optional<std::size_t> out;
  std::optional<std::size_t> error;
};

/// Connection to the remote launcher that started this agent on its host.
struct LauncherInfo {
  int fd = -1;            ///< the launcher's orders arrive here
  std::string nonce;      ///< marks our control lines for the launcher
  std::string host;       ///< the launcher's name for this host
  bool is_first = false;  ///< this agent prints what concerns all nodes
  Terminals terminals;    ///< terminals of the launcher, where our output is shown
};

/// Lines of the console that begin with the time, and its form.
struct ConsoleTimes {
  ConsoleClock clock{ConsoleTime::Auto};
  bool of_workers = false;  ///< workers' lines, too
};

/// Options of a run on this node. The plan of the workers does not depend on them.
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
  ConsoleTimes console_times;
  When colour = When::Auto;     ///< Auto: on a terminal, unless NO_COLOR is set
  When terminals = When::Auto;  ///< whether workers write into ptys; Auto: where the output is shown on a terminal
  InputFor input_for = InputFor::SingleWorker;
  LocalRank input_rank{};  ///< for ChosenWorker
  SuspendOptions suspend;
  HangOptions hangs;
  StandbyOptions standby;
  CacheOptions caches;
  ReadAheadOptions read_ahead;
  std::string state_folder;  ///< of the job, kept between its runs; empty: not wanted
  std::string host_name;
  std::optional<LauncherInfo> launcher;  ///< empty: not started by a remote launcher

  /// True when something is written to files.
  bool needs_files() const { return selection.needs_files() || !duplicate_out.is_empty() || !duplicate_err.is_empty(); }
};

/// True for TERM=dumb: the terminal shows text only.
bool is_dumb(const std::map<std::string, std::string>& variables);

/// The clock for the console of a muster that started at `start`: decides Auto.
ConsoleClock make_console_clock(const RunOptions& options, WallTime start);

/// True if text on `fd`, a stream of ours, may be coloured.
bool may_colour(int fd, When colour, const std::map<std::string, std::string>& variables);

}  // namespace muster
