// Decides nothing that the plan and the options do not say: it connects.
#include "worker_streams.hpp"

#include <muster/base/rank_words.hpp>
#include <muster/logs/messages.hpp>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace muster {
namespace {

/// Of the log of one stream, or of both; a name that ends with .txt has one.
const char* ending_of(const WorkerPlan& planned, bool is_error) {
  if (!planned.joins_streams) {
    return is_error ? ".err" : ".out";
  }
  return planned.log.ends_with(".txt") ? "" : ".log";
}

/// The first of its files that cannot be had. One of which nothing is known is hoped for.
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

WorkerStreams::WorkerStreams(boost::asio::io_context& io,
                             const Sinks& sinks,
                             const LaunchPlan& plan,
                             const StreamSettings& settings)
    : sinks_(sinks),
      plan_(plan),
      options_(settings.options),
      variables_(settings.variables),
      log_folder_(settings.log_folder),
      output_(io, plan.workers.size(), &sinks.logs) {
  sinks_.consoles.on_relief = [this] { output_.resume(); };
  sinks_.logs.on_relief = [this] { output_.resume(); };
  output_.on_end = [this](std::size_t worker) {
    if (on_end) {
      on_end(worker);
    }
  };
}

bool WorkerStreams::open_files(const std::function<void()>& next) {
  routes_.reserve(plan_.workers.size());
  for (std::size_t worker = routes_.size(); worker < plan_.workers.size(); ++worker) {
    Routes routes{make_route(worker, /*is_error=*/false), make_route(worker, /*is_error=*/true)};
    std::shared_ptr<LogFile> joined;
    for (StreamRoute* const route : {&routes.out, &routes.err}) {
      open_log(*route, joined);
      open_filtered(*route);
    }
    routes_.push_back(std::move(routes));
  }
  return sinks_.logs.are_open(next);
}

Result<> WorkerStreams::connect(std::size_t worker, UniqueFd out, UniqueFd err) {
  Routes& routes = routes_[worker];
  for (StreamRoute* const route : {&routes.out, &routes.err}) {
    if (auto opened = check_files(*route); !opened) {
      return opened;
    }
    set_prefixes(*route, std::nullopt);
  }
  output_.add(std::move(out), std::move(routes.out));
  output_.add(std::move(err), std::move(routes.err));
  return {};
}

Destination WorkerStreams::destination(std::size_t worker, bool is_error) const {
  const LocalRank rank = plan_.workers[worker].local_rank;
  return is_error ? options_.selection.err(rank) : options_.selection.out(rank);
}

StreamRoute WorkerStreams::make_route(std::size_t worker, bool is_error) const {
  StreamRoute route;
  route.worker = worker;
  route.is_error = is_error;
  Sink& console = is_error ? sinks_.consoles.error() : sinks_.consoles.out();
  if (destination(worker, is_error).console) {
    route.console = &console;
  }
  const bool has_whole_lines = has_prefix(plan_.workers[worker]) || plan_.workers.size() > 1;
  route.framer = LineFramer("", has_whole_lines);
  if (console.is_terminal()) {
    route.framer.tame_lines();
  }
  return route;
}

std::string WorkerStreams::log_path(std::size_t worker, const char* ending) const {
  return log_folder_ + plan_.workers[worker].log + ending;
}

std::shared_ptr<LogFile> WorkerStreams::open_file(const std::string& path) {
  files_.push_back(sinks_.logs.open(path));
  return files_.back();
}

/// A file of this stream, or `joined`, which takes the lines of both streams and is made for the
/// first one that needs it.
void WorkerStreams::open_log(StreamRoute& route, std::shared_ptr<LogFile>& joined) {
  if (!destination(route.worker, route.is_error).file) {
    return;
  }
  if (!joined) {
    const bool joins = plan_.workers[route.worker].joins_streams;
    const char* const ending = ending_of(plan_.workers[route.worker], route.is_error);
    auto file = open_file(log_path(route.worker, ending));
    if (!joins) {
      route.file = std::move(file);
      return;
    }
    joined = std::move(file);
  }
  route.shared_files.push_back({LineFramer(""), joined, /*has_prefix=*/false});
}

/// Several nodes may share the folder, so each of them has files of its own there.
void WorkerStreams::open_filtered(StreamRoute& route) {
  const LineFilter& filter = route.is_error ? options_.duplicate_err : options_.duplicate_out;
  if (filter.is_empty()) {
    return;
  }
  std::shared_ptr<LogFile>& shared = route.is_error ? filtered_err_ : filtered_out_;
  if (!shared) {
    const std::filesystem::path log = log_path(route.worker, "");
    const std::string name = route.is_error ? "/filtered_stderr" : "/filtered_stdout";
    const std::string node = plan_.nodes > 1 ? "_" + to_string(plan_.node_rank) : std::string();
    shared = open_file(log.parent_path().string() + name + node + ".log");
  }
  route.shared_files.push_back({LineFramer("", filter), shared, /*has_prefix=*/true});
}

void WorkerStreams::note_start(std::size_t worker, pid_t pid) {
  if (options_.prefix_template.needs("pid")) {
    output_.change_routes(worker, [this, pid](StreamRoute& route) { set_prefixes(route, pid); });
  }
}

void WorkerStreams::set_prefixes(StreamRoute& route, std::optional<pid_t> pid) const {
  const std::string text = prefix_text(route.worker, pid);
  const bool is_shown = options_.prefix != PrefixWhen::OnTerminal ||
                        (route.console != nullptr && route.console->is_terminal());
  route.framer.set_prefix(is_shown ? coloured(text, route) : "");
  for (LineRoute& shared : route.shared_files) {
    shared.framer.set_prefix(shared.has_prefix ? text : "");
  }
}

/// What mpirun writes is what its ranks have written: nobody would know which of them.
bool WorkerStreams::has_prefix(const WorkerPlan& planned) const {
  const bool brings_others = planned.is_unranked && planned.decides_success;
  const bool has_others =
      (plan_.world_size > 1 && !brings_others) || !options_.prefix_template.is_empty();
  return options_.prefix == PrefixWhen::Always ||
         (options_.prefix != PrefixWhen::Never && has_others && !plan_.is_transparent);
}

/// What the lines of a worker begin with; empty when they begin with nothing.
std::string WorkerStreams::prefix_text(std::size_t worker, std::optional<pid_t> pid) const {
  const WorkerPlan& planned = plan_.workers[worker];
  if (!has_prefix(planned)) {
    return {};
  }
  if (options_.prefix_template.is_empty()) {
    const std::string node = plan_.nodes > 1 ? to_string(plan_.node_rank) + ":" : std::string();
    return "[" + node + (planned.label.empty() ? to_string(planned.global_rank) : planned.label) +
           "] ";
  }
  const auto role_name = planned.environment.find("ROLE_NAME");
  return options_.prefix_template.fill(
      {{"role_name", role_name == planned.environment.end() ? planned.role : role_name->second},
       {"local_rank", to_string(planned.local_rank)},
       {"rank", to_string(planned.global_rank)},
       {"global_rank", to_string(planned.global_rank)},
       {"role", planned.role},
       {"role_rank", std::to_string(planned.role_rank)},
       {"node_rank", to_string(plan_.node_rank)},
       {"attempt", std::to_string(plan_.attempt)},
       {"hostname", options_.host_name},
       {"pid", pid ? std::to_string(*pid) : ""}});
}

/// The prefix as the stream's console shows it.
std::string WorkerStreams::coloured(const std::string& text, const StreamRoute& route) const {
  if (text.empty() ||
      !may_colour(route.is_error ? STDERR_FILENO : STDOUT_FILENO, options_.colour, variables_)) {
    return text;
  }
  constexpr int kColours = 6;  // red to cyan, without black and white
  const int colour = 1 + plan_.workers[route.worker].global_rank.value % kColours;
  const std::size_t end = text.find_last_not_of(' ') + 1;
  return "\x1b[3" + std::to_string(colour) + "m" + text.substr(0, end) + "\x1b[0m" +
         text.substr(end);
}

void WorkerStreams::finish() {
  output_.note_all_are_dead();
  output_.drain();
  output_.close();  // a pipe may be held open by somebody who is not ours
  sinks_.consoles.on_relief = nullptr;
  sinks_.logs.on_relief = nullptr;
  for (const auto& file : files_) {
    sinks_.logs.close(*file);
  }
}

}  // namespace muster
