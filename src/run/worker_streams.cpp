// Decides nothing that the plan and the options do not say: it connects.
#include "worker_streams.hpp"

#include <muster/logs/messages.hpp>
#include <muster/run/inherited.hpp>

#include <boost/asio/post.hpp>

#include <sys/stat.h>
#include <unistd.h>

namespace muster {
namespace {

bool is_same_file(int left, int right) {
  struct stat a {};
  struct stat b {};
  return ::fstat(left, &a) == 0 && ::fstat(right, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

}  // namespace

WorkerStreams::WorkerStreams(boost::asio::io_context& io,
                             const LaunchPlan& plan,
                             const RunOptions& options,
                             const std::map<std::string, std::string>& variables,
                             const std::string& log_folder)
    : io_(io),
      plan_(plan),
      options_(options),
      variables_(variables),
      log_folder_(log_folder),
      error_console_(
          std::make_unique<Console>(io, STDERR_FILENO, "standard error", options.console_stall)),
      output_(io, plan.workers.size()) {
  if (!is_same_file(STDOUT_FILENO, STDERR_FILENO)) {
    out_console_ =
        std::make_unique<Console>(io, STDOUT_FILENO, "standard output", options.console_stall);
  }
  for (Console* console : consoles()) {
    console->on_relief = [this] { output_.resume(); };
    console->on_remark = [](const std::string& remark) { say_warning(remark); };
  }
  output_.on_remark = [](const std::string& remark) { say_warning(remark); };
  output_.on_end = [this](std::size_t worker) {
    if (on_end) {
      on_end(worker);
    }
  };
  send_messages_to([this](std::string_view line) { error_console_->write_message(line); });
  if (was_closed(STDOUT_FILENO) || (out_console_ && out_console_->is_broken())) {
    say_warning("standard output is closed, going on without it");
  }
}

WorkerStreams::~WorkerStreams() {
  send_messages_to({});  // the console that took them goes with us
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
    route.console = is_error || !out_console_ ? error_console_.get() : out_console_.get();
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

std::vector<Console*> WorkerStreams::consoles() const {
  std::vector<Console*> all = {error_console_.get()};
  if (out_console_) {
    all.push_back(out_console_.get());
  }
  return all;
}

bool WorkerStreams::finish(const std::function<void()>& next) {
  if (!std::exchange(knows_the_end_, true)) {
    output_.note_all_are_dead();
  }
  if (!is_closed_) {
    output_.drain();  // stops at a console that is congested
    if (!are_consoles_settled(next)) {
      return false;
    }
    is_closed_ = true;
    output_.close();  // a pipe may be held open by somebody who is not ours
  }
  return are_consoles_settled(next);
}

bool WorkerStreams::are_consoles_settled(const std::function<void()>& next) {
  const auto come_back = [this, next] { boost::asio::post(io_, next); };
  bool is_settled = true;
  for (Console* console : consoles()) {
    const bool is_this_settled = console->is_settled();
    console->on_settled = is_this_settled ? std::function<void()>() : come_back;
    is_settled = is_settled && is_this_settled;
  }
  return is_settled;
}

void WorkerStreams::abandon(Console& console) {
  if (const std::uint64_t lines = console.abandon(); lines > 0) {
    losses_.push_back(console.describe_dropped(lines));
  }
}

void WorkerStreams::abandon_consoles() {
  for (Console* console : consoles()) {
    abandon(*console);
  }
}

std::vector<std::string> WorkerStreams::describe_losses() {
  std::vector<std::string> sentences = output_.describe_missing();
  for (Console* console : consoles()) {
    if (console->is_stalled()) {
      abandon(*console);
    }
  }
  sentences.insert(sentences.end(), losses_.begin(), losses_.end());
  return sentences;
}

}  // namespace muster
