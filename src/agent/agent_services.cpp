// The services of an attempt, and what the agent does for them.
#include "agent/agent.hpp"
#include "services/run_named_pipe.hpp"
#include "services/servers.hpp"

#include "base/log.hpp"
#include "services/torch_store/awaited_keys.hpp"

#include <boost/asio/post.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

namespace muster {
namespace {

/// For the removal of a few files.
constexpr std::chrono::milliseconds kFilePatience{1'000};

}  // namespace

/// The services of the next attempt begin here on the leader, and at its start on other nodes.
Result<AttemptPorts> Agent::reserve_port() {
  store_.end();  // it would be found at the port that the next one is to have
  services_ = make_services(input_.job.plan.services);
  return services_->prepare();
}

std::unique_ptr<Services> Agent::make_services(const std::vector<std::string>& names) {
  return std::make_unique<Services>(
      names,
      ServiceInput{input_.job.worker_port(),
                   input_.run_folder,
                   input_.options.host_name,
                   input_.job.gang.key != nullptr,
                   sidecars_.environment(),
                   std::bind_front(&Sidecars::start, &sidecars_),
                   [this](ServerEvents events) { return start_server(io_, std::move(events)); },
                   [this](const std::string& path, PipeEvents events) {
                     return open_pipe(io_, path, std::move(events));
                   },
                   [this](gang::Contributed value) { return gang_.contribute(std::move(value)); },
                   [this](std::size_t worker, std::string_view lines) {
                     if (attempt_) {
                       attempt_->write_as_worker(worker, lines);
                     }
                   },
                   [this](std::function<void()> then) { boost::asio::post(io_, std::move(then)); },
                   file_work(),
                   &store_,
                   [this] { return gang_.nodes(); },
                   [this](std::uint32_t pid) { return rank_of(pid); },
                   [this](int pid, int signal) {
                     return attempt_ ? attempt_->signal_process(pid, signal) : std::nullopt;
                   },
                   [this](std::chrono::nanoseconds time) { init_time_ = time; }});
}

/// Where it is asked twice the first answer counts. The report waits for it.
void Agent::note_awaited_keys(const store::AwaitedKeys& awaited) {
  if (awaited_keys_.empty()) {
    const auto nodes = gang_.nodes();
    awaited_keys_ = describe_awaited(awaited,
                                     nodes.empty() ? std::string() : nodes.front().address,
                                     [this](std::uint32_t pid) { return rank_of(pid); });
  }
  if (end_) {
    finalize();
  }
}

std::optional<int> Agent::rank_of(std::uint32_t pid) const {
  return attempt_ ? attempt_->rank_of(static_cast<pid_t>(pid)) : std::nullopt;
}

void Agent::log_slow_files() const {
  log_info("waiting for " + pending_file_ + " to be written");
}

AsyncFileIo Agent::file_work() {
  const auto add = [this](HelperTaskQueue::Task task) {
    pending_work_.add(kFilesOfServices);
    service_files_.add(std::move(task));
  };
  return {.write =
              [this, add](std::string what,
                          AsyncFileIo::Work work,
                          std::function<void(AsyncFileIo::Answer)> then) {
                pending_file_ = std::move(what);
                slow_files_timer_.ask();
                const auto end = [this, then = std::move(then)](const AsyncFileIo::Answer& answer) {
                  slow_files_timer_.cancel();
                  then(answer);
                };
                add({std::move(work), input_.options.console_stall, end, true});
              },
          .remove =
              [this, add](AsyncFileIo::Work work) {
                slow_files_timer_.cancel();
                service_files_.drop();
                add({std::move(work), kFilePatience, [](const auto& /*answer*/) {}, false});
              }};
}

}  // namespace muster
