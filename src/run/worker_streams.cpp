// Decides nothing that the plan and the options do not say: it connects.
#include "worker_streams.hpp"

#include <muster/logs/messages.hpp>

#include <unistd.h>

#include <filesystem>
#include <tuple>

namespace muster {

WorkerStreams::WorkerStreams(boost::asio::io_context& io,
                             Consoles& consoles,
                             const LaunchPlan& plan,
                             const RunOptions& options,
                             const std::map<std::string, std::string>& variables,
                             const std::string& log_folder)
    : consoles_(consoles),
      plan_(plan),
      options_(options),
      variables_(variables),
      log_folder_(log_folder),
      output_(io, plan.workers.size()) {
  consoles_.on_relief = [this] { output_.resume(); };
  output_.on_remark = [](const std::string& remark) { say_warning(remark); };
  output_.on_end = [this](std::size_t worker) {
    if (on_end) {
      on_end(worker);
    }
  };
}

Result<> WorkerStreams::connect(std::size_t worker, UniqueFd out, UniqueFd err) {
  StreamRoute out_route = make_route(worker, /*is_error=*/false);
  StreamRoute err_route = make_route(worker, /*is_error=*/true);
  if (auto opened = open_logs(out_route, err_route); !opened) {
    return opened;
  }
  for (StreamRoute* const route : {&out_route, &err_route}) {
    if (auto opened = open_filtered(*route); !opened) {
      return opened;
    }
  }
  output_.add(std::move(out), std::move(out_route));
  output_.add(std::move(err), std::move(err_route));
  return {};
}

StreamRoute WorkerStreams::make_route(std::size_t worker, bool is_error) const {
  const LocalRank rank = plan_.workers[worker].local_rank;
  const Destination destination =
      is_error ? options_.selection.err(rank) : options_.selection.out(rank);
  StreamRoute route;
  route.worker = worker;
  route.is_error = is_error;
  if (destination.console) {
    route.console = is_error ? &consoles_.error() : &consoles_.out();
  }
  route.framer = LineFramer(console_prefix(worker, is_error, std::nullopt),
                            /*whole_lines=*/has_prefix() || plan_.workers.size() > 1);
  return route;
}

std::string WorkerStreams::log_path(std::size_t worker, const char* ending) const {
  return log_folder_ + plan_.workers[worker].log + ending;
}

/// The files of one worker: one for each stream, or one that takes the lines of both.
Result<> WorkerStreams::open_logs(StreamRoute& out, StreamRoute& err) const {
  const WorkerPlan& planned = plan_.workers[out.worker];
  std::shared_ptr<LogFile> joined;
  for (const auto& [route, is_wanted, ending] :
       {std::tuple(&out, options_.selection.out(planned.local_rank).file, ".out"),
        std::tuple(&err, options_.selection.err(planned.local_rank).file, ".err")}) {
    if (!is_wanted) {
      continue;
    }
    if (!joined) {
      auto file = LogFile::create(log_path(route->worker, planned.joins_streams ? ".log" : ending));
      if (!file) {
        return file.error();
      }
      if (!planned.joins_streams) {
        route->file = std::move(*file);
        continue;
      }
      joined = std::make_shared<LogFile>(std::move(*file));
    }
    route->shared_files.push_back({LineFramer(""), joined});
  }
  return {};
}

/// Several nodes may share the folder, so each of them has files of its own there.
Result<> WorkerStreams::open_filtered(StreamRoute& route) {
  const LineFilter& filter = route.is_error ? options_.duplicate_err : options_.duplicate_out;
  if (filter.is_empty()) {
    return {};
  }
  std::shared_ptr<LogFile>& shared = route.is_error ? filtered_err_ : filtered_out_;
  if (!shared) {
    const std::string folder =
        std::filesystem::path(log_path(route.worker, "")).parent_path().string();
    const std::string node = plan_.nodes > 1 ? "_" + to_string(plan_.node_rank) : std::string();
    auto file = LogFile::create(
        folder + (route.is_error ? "/filtered_stderr" : "/filtered_stdout") + node + ".log");
    if (!file) {
      return file.error();
    }
    shared = std::make_shared<LogFile>(std::move(*file));
  }
  route.shared_files.push_back(
      {LineFramer(prefix_text(route.worker, std::nullopt), filter), shared});
  return {};
}

void WorkerStreams::note_start(std::size_t worker, pid_t pid) {
  if (!options_.prefix_template.needs("pid")) {
    return;
  }
  output_.change_routes(worker, [&](StreamRoute& route) {
    route.framer.set_prefix(console_prefix(worker, route.is_error, pid));
    for (LineRoute& shared : route.shared_files) {
      if (shared.file == filtered_out_ || shared.file == filtered_err_) {
        shared.framer.set_prefix(prefix_text(worker, pid));
      }
    }
  });
}

bool WorkerStreams::has_prefix() const {
  const bool has_others = plan_.world_size > 1 || !options_.prefix_template.is_empty();
  return options_.prefix == When::Always ||
         (options_.prefix == When::Auto && has_others && !plan_.is_transparent);
}

/// What the lines of a worker begin with; empty when they begin with nothing.
std::string WorkerStreams::prefix_text(std::size_t worker, std::optional<pid_t> pid) const {
  const WorkerPlan& planned = plan_.workers[worker];
  if (!has_prefix()) {
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

std::string WorkerStreams::console_prefix(std::size_t worker,
                                          bool is_error,
                                          std::optional<pid_t> pid) const {
  const std::string text = prefix_text(worker, pid);
  if (text.empty() ||
      !may_colour(is_error ? STDERR_FILENO : STDOUT_FILENO, options_.colour, variables_)) {
    return text;
  }
  constexpr int kColours = 6;  // red to cyan, without black and white
  const int colour = 1 + plan_.workers[worker].global_rank.value % kColours;
  const std::size_t end = text.find_last_not_of(' ') + 1;
  return "\x1b[3" + std::to_string(colour) + "m" + text.substr(0, end) + "\x1b[0m" +
         text.substr(end);
}

bool WorkerStreams::finish(const std::function<void()>& next) {
  if (!std::exchange(knows_the_end_, true)) {
    output_.note_all_are_dead();
  }
  if (!is_closed_) {
    output_.drain();  // stops at a console that is congested
    if (!consoles_.are_settled(next)) {
      return false;
    }
    is_closed_ = true;
    output_.close();  // a pipe may be held open by somebody who is not ours
    consoles_.on_relief = nullptr;
  }
  return consoles_.are_settled(next);
}

}  // namespace muster
