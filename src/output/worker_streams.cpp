// Connects the streams of workers to consoles and log files, as the plan and the options say.
#include "output/worker_streams.hpp"

#include "base/display_text.hpp"
#include "base/log.hpp"
#include "base/ranks.hpp"
#include "base/text.hpp"
#include "process/inherited.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace muster {
namespace {

/// The error of the first log file that could not be created. A file whose state is not known yet counts as created.
Result<> check_files(const StreamRoute& route) {
  if (route.file && route.file->opened && !*route.file->opened) {
    return *route.file->opened;
  }
  for (const LineRoute& shared : route.shared_files) {
    if (shared.file->opened && !*shared.file->opened) {
      return *shared.file->opened;
    }
  }
  return {};
}

}  // namespace

WorkerStreams::WorkerStreams(boost::asio::io_context& io, OutputQueues& queues, const LaunchPlan& plan,
                             const RunContext& run)
    : PipeReader(io, plan.workers.size(), queues), plan_(plan), run_(run) {}

bool WorkerStreams::open_files(const std::function<void()>& next) {
  routes_.reserve(plan_.workers.size());
  for (std::size_t worker = routes_.size(); worker < plan_.workers.size(); ++worker) {
    open_files_of(worker);
  }
  return queues().logs().are_open(next);
}

void WorkerStreams::open_files_of(std::size_t worker) {
  std::shared_ptr<LogFile> joined;
  const auto open = [&](bool is_error) {
    StreamRoute route = make_route(worker, is_error);
    open_log(route, joined);
    open_filtered(route);
    return route;
  };
  Routes routes;
  if (!connection_of(worker).is_joined) {
    routes.out = open(/*is_error=*/false);
  }
  routes.err = open(/*is_error=*/true);
  routes_.push_back(std::move(routes));
}

OutputConnection WorkerStreams::connection_of(std::size_t worker) const {
  return choose_connection(target(worker, /*is_error=*/false), target(worker, /*is_error=*/true),
                           run_.options.terminals);
}

bool WorkerStreams::is_typed_to(std::size_t worker) const {
  const bool is_reader = run_.options.input_for == InputFor::All || reader_of_input(plan_, run_.options) == worker;
  return is_reader && is_terminal(STDIN_FILENO);
}

StreamTarget WorkerStreams::target(std::size_t worker, bool is_error) const {
  const Destination wanted = destination(worker, is_error);
  const LineFilter& filter = is_error ? run_.options.duplicate_err : run_.options.duplicate_out;
  StreamTarget target;
  if (wanted.console) {
    target.console = queues().descriptor(is_error);
    target.is_terminal = is_terminal(*target.console);
  }
  if (wanted.file) {
    target.file = plan_.workers[worker].log.are_joined() ? StreamFile::Joined : StreamFile::Own;
  }
  if (!filter.is_empty()) {
    target.file = StreamFile::Own;
  }
  return target;
}

Result<> WorkerStreams::connect(std::size_t worker, StreamEnds ends) {
  Routes& routes = routes_[worker];
  for (StreamRoute* const route : {routes.out ? &*routes.out : nullptr, &routes.err}) {
    if (route == nullptr) {
      continue;
    }
    TRY(check_files(*route));
    set_prefixes(*route, std::nullopt);
  }
  if (routes.out) {
    add(std::move(ends.out), std::move(*routes.out));
  }
  add(std::move(ends.error), std::move(routes.err));
  return {};
}

Destination WorkerStreams::destination(std::size_t worker, bool is_error) const {
  const LocalRank rank = plan_.workers[worker].local_rank;
  return is_error ? run_.options.selection.err(rank) : run_.options.selection.out(rank);
}

StreamRoute WorkerStreams::make_route(std::size_t worker, bool is_error) const {
  StreamRoute route;
  route.worker = worker;
  route.is_error = is_error;
  OutputQueue& console = is_error ? queues().error() : queues().out();
  if (destination(worker, is_error).console) {
    route.console = &console;
  }
  const bool is_launchers = console.is_terminal() && !target(worker, is_error).is_terminal;
  const bool shares_terminal = plan_.workers.size() > 1 || is_launchers;
  const ConsoleTimes& times = run_.options.console_times;
  const bool has_time = times.of_workers && times.clock.form != ConsoleTime::Off;
  const bool has_whole_lines = has_prefix(plan_.workers[worker]) || shares_terminal || has_time;
  route.framer = LineFramer("", has_whole_lines);
  if (console.is_terminal()) {
    route.framer.sanitize_lines();
  }
  route.shows_unfinished = target(worker, is_error).is_terminal;
  if (has_time) {
    route.framer.put_time(times.clock);
  } else if (route.shows_unfinished && has_whole_lines && !is_dumb(run_.variables)) {
    route.framer.enable_rows();
  }
  route.is_typed_to = is_typed_to(worker);
  return route;
}

std::shared_ptr<LogFile> WorkerStreams::open_file(const std::string& path) {
  files_.push_back(queues().logs().open(run_.log_folder + path));
  return files_.back();
}

/// Opens a file for this stream, or `joined`, which takes the lines of both streams and is created for the first one
/// that needs it.
void WorkerStreams::open_log(StreamRoute& route, std::shared_ptr<LogFile>& joined) {
  if (!destination(route.worker, route.is_error).file) {
    return;
  }
  if (!joined) {
    const StreamLogs& log = plan_.workers[route.worker].log;
    auto file = open_file(route.is_error ? log.err : log.out);
    if (!log.are_joined()) {
      route.file = std::move(file);
      return;
    }
    joined = std::move(file);
  }
  route.shared_files.push_back({LineFramer(""), joined, /*has_prefix=*/false});
}

void WorkerStreams::open_filtered(StreamRoute& route) {
  const LineFilter& filter = route.is_error ? run_.options.duplicate_err : run_.options.duplicate_out;
  if (filter.is_empty()) {
    return;
  }
  std::shared_ptr<LogFile>& shared = route.is_error ? filtered_err_ : filtered_out_;
  if (!shared) {
    shared = open_file(route.is_error ? plan_.chosen_lines.err : plan_.chosen_lines.out);
  }
  route.shared_files.push_back({LineFramer("", filter), shared, /*has_prefix=*/true});
}

void WorkerStreams::note_start(std::size_t worker, pid_t pid) {
  if (run_.options.prefix_template.needs("pid")) {
    change_routes(worker, [this, pid](StreamRoute& route) { set_prefixes(route, pid); });
  }
}

void WorkerStreams::set_prefixes(StreamRoute& route, std::optional<pid_t> pid) const {
  const std::string text = prefix_text(route.worker, pid);
  const bool is_shown =
      run_.options.prefix != PrefixWhen::OnTerminal || (route.console != nullptr && route.console->is_terminal());
  route.framer.set_prefix(is_shown ? coloured(text, route) : "");
  route.window_fd = queues().descriptor(route.is_error);
  route.prefix_columns = is_shown ? columns_of_text(text) : 0;
  for (LineRoute& shared : route.shared_files) {
    shared.framer.set_prefix(shared.has_prefix ? text : "");
  }
}

/// mpirun's output has no prefix: it contains the output of its ranks, and the lines do not tell of which one.
bool WorkerStreams::has_prefix(const WorkerPlan& planned) const {
  const bool brings_others = planned.is_unranked && planned.decides_success;
  const bool has_others = (plan_.world_size > 1 && !brings_others) || !run_.options.prefix_template.is_empty();
  return run_.options.prefix == PrefixWhen::Always ||
         (run_.options.prefix != PrefixWhen::Never && has_others && !plan_.is_transparent);
}

/// The prefix of a worker's lines; empty for none.
std::string WorkerStreams::prefix_text(std::size_t worker, std::optional<pid_t> pid) const {
  const WorkerPlan& planned = plan_.workers[worker];
  if (!has_prefix(planned)) {
    return {};
  }
  if (run_.options.prefix_template.is_empty()) {
    const std::string node = plan_.placement.nodes > 1 ? to_string(plan_.placement.node_rank) + ":" : std::string();
    return "[" + node + (planned.label.empty() ? to_string(planned.global_rank) : planned.label) + "] ";
  }
  return run_.options.prefix_template.fill({{"role_name", value_at(planned.environment, "ROLE_NAME", planned.role)},
                                            {"local_rank", to_string(planned.local_rank)},
                                            {"rank", to_string(planned.global_rank)},
                                            {"global_rank", to_string(planned.global_rank)},
                                            {"role", planned.role},
                                            {"role_rank", std::to_string(planned.role_rank)},
                                            {"node_rank", to_string(plan_.placement.node_rank)},
                                            {"attempt", std::to_string(plan_.placement.attempt)},
                                            {"hostname", run_.options.host_name},
                                            {"pid", pid ? std::to_string(*pid) : ""}});
}

/// The prefix with the colour of the rank, if the stream's console shows colours.
std::string WorkerStreams::coloured(const std::string& text, const StreamRoute& route) const {
  if (text.empty() ||
      !may_colour(route.is_error ? STDERR_FILENO : STDOUT_FILENO, run_.options.colour, run_.variables)) {
    return text;
  }
  constexpr int kColours = 6;  // red to cyan, without black and white
  const int colour = 1 + plan_.workers[route.worker].global_rank.value % kColours;
  const std::size_t end = text.find_last_not_of(' ') + 1;
  return "\x1b[3" + std::to_string(colour) + "m" + text.substr(0, end) + "\x1b[0m" + text.substr(end);
}

void WorkerStreams::finish() {
  note_all_exited();
  drain();
  close();  // a process that is not the job's may hold a pipe open
  for (const auto& file : files_) {
    queues().logs().close(*file);
  }
}

std::optional<std::size_t> reader_of_input(const LaunchPlan& plan, const RunOptions& options) {
  const bool is_chosen = options.input_for == InputFor::ChosenWorker;
  const auto reader = is_chosen ? static_cast<std::size_t>(options.input_rank.value) : 0;
  const bool has_one = is_chosen ? reader < plan.workers.size() : plan.workers.size() == 1;
  return has_one && options.input_for != InputFor::None ? std::optional(reader) : std::nullopt;
}

}  // namespace muster
