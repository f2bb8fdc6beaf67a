// Starts MPI ranks without mpirun: runs a PMIx server on each node, and connects the servers through the gang.
#include "base/file_io.hpp"
#include "base/log.hpp"
#include "modes/ssh_files.hpp"
#include "services/mpi/pmix_frames.hpp"
#include "services/mpi/running_values.hpp"
#include "services/services.hpp"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <numeric>
#include <set>
#include <utility>

namespace muster {

Result<std::string> write_pmix_server(const std::string& run_folder) {
  if (run_folder.empty()) {
    return Error{ErrorKind::System, "there is no folder for its files (TMPDIR names another place)"};
  }
  std::string path = run_folder + "/muster-pmix";
  constexpr mode_t kProgram = 0700;
  TRY(write_whole_file(path, mpi::pmix_server_program(), kProgram));
  return path;
}

// The service that runs the server of this node.

namespace {

namespace fs = std::filesystem;
using Nodes = std::vector<NodeRank>;

/// Ranks of each node, numbered from node to node.
std::vector<mpi::PmixNode> find_ranks(const std::vector<NodePorts>& contributed) {
  std::vector<mpi::PmixNode> nodes;
  nodes.reserve(contributed.size());
  for (std::string& name : mpi::host_names(contributed)) {
    nodes.push_back({std::move(name), {}});
  }
  int next = 0;
  for (std::size_t i = 0; i < contributed.size(); ++i) {
    auto& ranks = nodes[i].ranks;
    ranks.resize(static_cast<std::size_t>(contributed[i].slots));
    std::iota(ranks.begin(), ranks.end(), next);
    next += contributed[i].slots;
  }
  return nodes;
}

class PmixService final : public Service {
 public:
  explicit PmixService(ServiceInput input) : input_(std::move(input)) {}

  Result<std::optional<PlanAdditions>> start(const LaunchPlan& plan) override {
    const auto program = TRY(write_pmix_server(input_.run_folder));
    nodes_ = find_ranks(plan.placement.ports);
    plan_size_ = plan.world_size;
    // A directory of this attempt alone: a server of an earlier one that is still exiting removes its own.
    const std::string folder = input_.run_folder + "/pmix_" + std::to_string(plan.placement.attempt);
    std::error_code failed;
    fs::create_directory(folder, failed);
    if (failed) {
      return system_error("cannot make the folder '" + folder + "'", failed.value());
    }
    sidecar_ = TRY(input_.host->start_sidecar(
        {program, {"muster-pmix"}}, {[this](std::string_view bytes) { on_bytes(bytes); }, [this] { on_closed(); }}));
    const int own = plan.placement.node_rank.value;
    sidecar_->send(mpi::write_job({plan.mpi_job, folder, own, nodes_}));
    local_ranks_ = nodes_.at(static_cast<std::size_t>(own)).ranks;
    return std::optional<PlanAdditions>();
  }

  std::optional<Error> explain_end(std::size_t worker, bool has_succeeded) override {
    if (!has_succeeded) {
      return std::nullopt;
    }
    const int rank = rank_of(worker);
    if (sidecar_) {
      sidecar_->read_now();  // events that the server sent before the rank's exit
    }
    if (const auto abort = aborts_.find(rank); abort != aborts_.end()) {
      return Error{ErrorKind::System, "called MPI_Abort(" + std::to_string(abort->second) + ")"};
    }
    return connected_.contains(rank) && !finalized_.contains(rank)
               ? std::optional<Error>({ErrorKind::System, "ended without MPI_Finalize"})
               : std::nullopt;
  }

  void on_worker_ended(std::size_t worker, bool has_succeeded) override {
    const int rank = rank_of(worker);
    // A rank that has failed ends the job by that, and is the first failure.
    if (!has_succeeded || rank < 0 || connected_.contains(rank) || absent_) {
      return;
    }
    absent_ = rank;
    // Tells ranks of other nodes that wait for this one, by the fence with which all ranks begin.
    if (auto contributed = input_.host->contribute(contribution_of<FenceValue>({{}, rank})); !contributed) {
      fail_later(contributed.error());
    }
    poll_waiting();
  }

  void on_workers_over(bool is_success) override {
    if (is_success && connected_.empty() && plan_size_ > 1) {
      log_warning(
          "no rank of this node has called MPI_Init in a way that muster could see: if the program uses MPI, each rank "
          "ran alone, with size 1 (is it built with another MPI than "
          "Open MPI? that MPI's own mpirun can start muster)");
    }
    sidecar_.reset();
  }

  void on_merged(const gang::Value& value) override {
    if (value.id.key != FenceValue::kName) {
      return;
    }
    const Fence end = read_agreed<FenceValue>(value.bytes).value();  // valid: written by the same program
    if (end.absent_rank) {
      // Without effect where no rank uses MPI.
      absent_ = end.absent_rank;
      poll_waiting();
      return;
    }
    auto& waiting = fences_[value.id.nodes];
    if (!waiting.empty() && sidecar_) {
      sidecar_->send(mpi::write_fenced(waiting.front(), end.said));
      waiting.pop_front();
    }
  }

  void stop() override { sidecar_.reset(); }

 private:
  /// Rank of a worker of this node; -1: not an MPI rank.
  int rank_of(std::size_t worker) const { return worker < local_ranks_.size() ? local_ranks_[worker] : -1; }

  /// Fails if ranks are in MPI_Init while another rank has exited without it: they would wait for that one for ever.
  void poll_waiting() {
    if (absent_ && !connected_.empty()) {
      fail_later({ErrorKind::System,
                  "rank " + std::to_string(*absent_) + " has ended without MPI_Init, in which others wait for it"});
    }
  }

  /// Fails in a later turn of the event loop, because the caller has not finished yet.
  void fail_later(const Error& error) {
    input_.host->run_later(guarded([this, error] { report_failure(error); }));
  }

  void on_bytes(std::string_view bytes) {
    const auto events = reader_.feed(bytes);
    if (!events) {
      fail_later(events.error());
      return;
    }
    for (const mpi::PmixEvent& event : *events) {
      std::visit([this](const auto& happened) { handle(happened); }, event);
    }
  }

  /// The server has ended without being stopped.
  void on_closed() {
    report_failure({ErrorKind::System, "the PMIx server has ended"});
    sidecar_.reset();
  }

  void handle(const mpi::RankEnvironment& environment) {
    const auto found = std::find(local_ranks_.begin(), local_ranks_.end(), environment.rank);
    auto& variables = additions_.environment_of[static_cast<std::size_t>(found - local_ranks_.begin())];
    for (const std::string& variable : environment.variables) {
      const std::size_t equals = variable.find('=');
      variables[variable.substr(0, equals)] = variable.substr(equals + 1);
    }
  }
  void handle(const mpi::PmixReady& ready) {
    log_debug("PMIx server of " + ready.version);
    report_ready(additions_);
  }
  void handle(const mpi::PmixRefused& refused) { fail_later({ErrorKind::System, refused.why}); }
  void handle(const mpi::RankConnected& connected) {
    connected_.insert(connected.rank);
    poll_waiting();
  }
  void handle(const mpi::RankFinalized& finalized) { finalized_.insert(finalized.rank); }
  void handle(const mpi::RankMessage& said) {
    const auto worker = std::find(local_ranks_.begin(), local_ranks_.end(), said.rank);
    if (worker != local_ranks_.end()) {
      input_.host->write_as_worker(static_cast<std::size_t>(worker - local_ranks_.begin()), said.text);
    }
    if (sidecar_) {
      sidecar_->send(mpi::write_shown(said.number));
    }
  }
  void handle(const mpi::RankAborted& aborted) {
    aborts_[aborted.rank] = aborted.code;
    log_error("rank " + std::to_string(aborted.rank) + " called MPI_Abort(" + std::to_string(aborted.code) + ")");
  }
  void handle(const mpi::FenceReached& fence) {
    const Nodes nodes = nodes_of(fence.ranks);
    fences_[nodes].push_back(fence.number);
    if (auto contributed = input_.host->contribute(contribution_of<FenceValue>({fence.part}, nodes)); !contributed) {
      fail_later(contributed.error());
    }
  }

  /// Nodes on which these ranks run; empty: all nodes.
  Nodes nodes_of(const std::vector<int>& ranks) const {
    Nodes nodes;
    for (std::size_t i = 0; i < nodes_.size() && !ranks.empty(); ++i) {
      const auto& there = nodes_[i].ranks;
      const bool takes_part = std::any_of(ranks.begin(), ranks.end(), [&](int rank) {
        return std::find(there.begin(), there.end(), rank) != there.end();
      });
      if (takes_part) {
        nodes.push_back(NodeRank{static_cast<int>(i)});
      }
    }
    return nodes.size() == nodes_.size() ? Nodes() : nodes;
  }

  ServiceInput input_;
  std::vector<mpi::PmixNode> nodes_;
  std::vector<int> local_ranks_;
  std::unique_ptr<Sidecar> sidecar_;
  mpi::PmixReader reader_;
  PlanAdditions additions_;
  std::set<int> connected_;
  std::set<int> finalized_;
  std::map<int, int> aborts_;                          ///< codes of MPI_Abort, by rank
  std::optional<int> absent_;                          ///< a rank that has ended without MPI_Init
  int plan_size_ = 0;                                  ///< ranks in the job
  std::map<Nodes, std::deque<std::uint32_t>> fences_;  ///< open fences, by the participating nodes
};

}  // namespace

std::unique_ptr<Service> make_pmix_service(const ServiceInput& input) {
  return std::make_unique<PmixService>(input);
}

}  // namespace muster
