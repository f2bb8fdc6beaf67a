// Decides nothing that the plan and the options do not say: it connects.
#include "worker_streams.hpp"

#include <muster/logs/messages.hpp>

#include <unistd.h>

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
  auto out_route = make_route(worker, /*is_error=*/false);
  if (!out_route) {
    return out_route.error();
  }
  auto err_route = make_route(worker, /*is_error=*/true);
  if (!err_route) {
    return err_route.error();
  }
  output_.add(std::move(out), std::move(*out_route));
  output_.add(std::move(err), std::move(*err_route));
  return {};
}

Result<StreamRoute> WorkerStreams::make_route(std::size_t worker, bool is_error) const {
  const WorkerPlan& planned = plan_.workers[worker];
  const Selection& selection = options_.selection;
  const Destination destination =
      is_error ? selection.err(planned.local_rank) : selection.out(planned.local_rank);
  StreamRoute route;
  route.worker = worker;
  route.is_error = is_error;
  if (destination.console) {
    route.console = is_error ? &consoles_.error() : &consoles_.out();
  }
  if (destination.file) {
    auto file = LogFile::create(log_folder_ + planned.log + (is_error ? ".err" : ".out"));
    if (!file) {
      return file.error();
    }
    route.file = std::move(*file);
  }
  const std::string prefix = prefix_of(worker, is_error);
  route.framer = LineFramer(prefix, /*whole_lines=*/!prefix.empty() || plan_.workers.size() > 1);
  return route;
}

std::string WorkerStreams::prefix_of(std::size_t worker, bool is_error) const {
  const bool has_others = plan_.world_size > 1 && !plan_.is_transparent;
  const bool is_wanted =
      options_.prefix == When::Always || (options_.prefix == When::Auto && has_others);
  if (!is_wanted) {
    return {};
  }
  const int rank = plan_.workers[worker].global_rank.value;
  const std::string node = plan_.nodes > 1 ? to_string(plan_.node_rank) + ":" : std::string();
  const std::string plain = "[" + node + std::to_string(rank) + "]";
  if (!may_colour(is_error ? STDERR_FILENO : STDOUT_FILENO, options_.colour, variables_)) {
    return plain + " ";
  }
  constexpr int kColours = 6;  // red to cyan, without black and white
  return "\x1b[3" + std::to_string(1 + rank % kColours) + "m" + plain + "\x1b[0m ";
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
