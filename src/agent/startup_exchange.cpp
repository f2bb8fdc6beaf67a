// Exchanges ports, rank tables and votes with the other nodes before the start.
#include "agent/startup_exchange.hpp"

#include "base/log.hpp"
#include "base/text.hpp"
#include "exchange/exchanged_rank_table.hpp"
#include "modes/mpi_request.hpp"
#include "process/sidecars.hpp"
#include "rank_table/rewrite.hpp"
#include "services/pmix.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace muster {
namespace {

Result<std::vector<WorkerPort>> reserve_ports(int count) {
  if (count > static_cast<int>(kMostPortsOfNode)) {
    return Error{ErrorKind::System, "cannot reserve " + std::to_string(count) +
                                        " ports for the workers: a node has at most " +
                                        std::to_string(kMostPortsOfNode)};
  }
  return WorkerPort::reserve_several(count);
}

}  // namespace

PortExchange::PortExchange(const JobPlan& job) : job_(job), reserved_(reserve_ports(job.ports_to_reserve)) {}

Result<std::string> PortExchange::contribution(const std::string& host) const {
  if (!reserved_) {
    return reserved_.error();
  }
  const bool are_wanted = !reserved_->empty() || job_.may_need(&LaunchPlan::exchanges_sizes);
  return are_wanted ? write_ports(ports_of_node(*reserved_, job_.gang.policy.node.slots, host)) : std::string();
}

std::vector<NodePorts> PortExchange::of_all(const gang::Exchanged& merged) {
  const auto ports = merged.find(ports_key().name);
  return ports == merged.end() ? std::vector<NodePorts>()
                               : read_ports(ports->second).value();  // written by the same program
}

// The rank table of this node.

namespace {

/// True without version numbers: then the file's content is the newest.
bool is_newer(const rank_table::TableFile& file, const rank_table::TableFile& before) {
  return !file.version || !before.version || *file.version > *before.version;
}

/// Warns of pods on one server, which can have only one `pod_ip`.
void warn_of_shared_server(const rank_table::Table& table, std::size_t own) {
  const std::string& server = table.instances[own].server_id;
  const auto pods =
      static_cast<std::size_t>(std::count_if(table.instances.begin(), table.instances.end(), [&](const auto& instance) {
        return !server.empty() && instance.server_id == server;
      }));
  if (pods > 1) {
    log_info(count_of(pods, "pod") + " of the rank table share the server '" + server +
             "', which can have one pod_ip: MindSpore's scheduler finds the ranks of the first of them "
             "alone, and gives the others ranks that may not be those of the table");
  }
}

}  // namespace

Result<> RankTableExchange::take(rank_table::TableFile file, bool is_restart) {
  if (is_restart && now_ && !is_newer(file, now_->file)) {
    return {};
  }
  const auto own = TRY(find_local_instance(*input_, file));
  TRY(follow_switches(file));
  if (needs_addresses()) {
    warn_of_shared_server(file.table, own);
  }
  Known known{std::move(file), own, {}, {}};
  if (has_peers()) {
    for (const auto& device : local_devices(*input_, known.file, known.instance)) {
      known.ranks.push_back(device.rank);
    }
    known.summary = rank_table::summarise(rank_table::rewrite(known.file.text, known.file.table));
  }
  before_ = std::exchange(now_, std::move(known));
  return {};
}

Result<> RankTableExchange::follow_switches(rank_table::TableFile& file) const {
  const auto& network = input_->job.network;
  if (!network) {
    return {};
  }
  const auto order = TRY(rank_table::order_ring(file, network->value));
  file.table = rank_table::with_ranks(std::move(file.table), order.ranks);
  log_info("hops around the ring of all ranks by " + network->source.name + ": " + describe(order));
  return {};
}

/// Without other nodes there is nothing to compare.
bool RankTableExchange::has_peers() const {
  return input_->cluster.job.most_nodes > 1 || needs_addresses();
}

bool RankTableExchange::needs_addresses() const {
  const auto& inputs = input_->mode.mode.inputs;
  return std::any_of(inputs.begin(), inputs.end(), [](const InputTemplate& input) { return input.adds_pod_addresses; });
}

std::string RankTableExchange::contribution() const {
  if (input_ && input_->generated) {
    return write_server(*input_->generated, input_->snapshot.host_name);
  }
  if (!now_ || !has_peers()) {
    return {};
  }
  PartOfTable part{now_->ranks, {}, now_->file.version, input_->cluster.job.most_nodes};
  if (needs_addresses()) {
    part.server_id = now_->file.table.instances[now_->instance].server_id;
  }
  return write_summary(now_->summary, part);
}

std::optional<rank_table::RankedNode> RankTableExchange::part(const Placement& placement, const gang::Exchanged& merged,
                                                              const std::vector<int>& ranks) const {
  const auto at = merged.find(rank_table_key().name);
  if (input_ && input_->generated && at != merged.end()) {
    return part_of_made_table(*input_->generated, placement, at->second);
  }
  if (!now_) {
    return std::nullopt;
  }
  const Known* used = &*now_;
  rank_table::Changes changes;
  changes.ranks = ranks;
  if (at != merged.end()) {
    SameTable same = read_same_table(at->second).value();  // written by the same program
    changes.pod_addresses = std::move(same.pod_addresses);
    if (before_ && before_->summary.digest == same.digest) {
      used = &*before_;
      changes.ranks.clear();  // they belong to the newer table
    }
  }
  const auto& file = used->file;
  return rank_table::RankedNode{file.table.size, local_devices(*input_, file, used->instance, changes.ranks),
                                rank_table::rewrite(file.text, file.table, changes)};
}

// The vote on how MPI ranks start: looks for what each method needs in this image.

std::string MpiStartVote::contribution() const {
  if (run_.job.others.empty()) {
    return {};
  }
  std::vector<MethodReport> reports{report(run_.job.input->mode)};
  reports.reserve(1 + run_.job.others.size());
  for (const MpiStartMethod& other : run_.job.others) {
    reports.push_back(report(other.mode));
  }
  return write_methods(reports);
}

AgreedMethod MpiStartVote::agreed(const gang::Exchanged& merged) {
  const auto methods = merged.find(methods_key().name);
  return methods == merged.end() ? AgreedMethod()
                                 : read_agreed_method(methods->second).value();  // written by the same program
}

void MpiStartVote::say(const AgreedMethod& method, const Placement& placement) const {
  if (run_.job.others.empty() || placement.node_rank.value != 0 || placement.attempt != 0) {
    return;
  }
  const ChosenMode& mode = method.index == 0 ? run_.job.input->mode : run_.job.others.at(method.index - 1).mode;
  std::vector<std::string> reasons;
  if (const std::string& only_mpirun = mode.mpirun.only_mpirun.value; !only_mpirun.empty()) {
    reasons.push_back(only_mpirun + " is for mpirun alone");
  }
  reasons.insert(reasons.end(), method.why_not.begin(), method.why_not.end());
  log_info("ranks of MPI start by way of " + std::string(name_of(mode.method.value())) +
           (reasons.empty() ? "" : ", since " + join(reasons, ", and ")));
}

MethodReport MpiStartVote::report(const ChosenMode& mode) const {
  return {name_of(mode.method.value()), why_not(mode)};
}

std::string MpiStartVote::why_not(const ChosenMode& mode) const {
  if (mode.method == MpiStart::Pmix) {
    return why_no_pmix();
  }
  if (run_.run_folder.empty()) {
    return "there is no folder for its files (TMPDIR names another place)";
  }
  if (run_.job.gang.policy.job.most_nodes > 1 && !run_.job.gang.key && needs_token(mode)) {
    return "it needs a token where there are several nodes (--token-file)";
  }
  return mode.method == MpiStart::Ssh ? why_not_found({"mpirun", "ssh", "sshd"}) : why_not_found({"mpirun"});
}

/// Runs the server's own program, which looks for the library as it does when it serves.
std::string MpiStartVote::why_no_pmix() const {
  const auto program = write_pmix_server(run_.run_folder);
  if (!program) {
    return program.error().message;
  }
  const auto probed = probe_program({*program, {"muster-pmix", "--probe"}}, run_.inherited, run_.variables);
  if (!probed) {
    return probed.error().message;
  }
  return probed->has_succeeded ? std::string() : probed->first_line;
}

/// Programs missing from PATH and from the sbin directories, where sshd usually is.
std::string MpiStartVote::why_not_found(const std::vector<std::string>& programs) const {
  const auto path = run_.variables.find("PATH");
  const std::string folders =
      (path == run_.variables.end() ? std::string("/usr/bin:/bin") : path->second) + ":/usr/sbin:/usr/local/sbin:/sbin";
  std::vector<std::string> missing;
  for (const std::string& program : programs) {
    if (!find_executable(program, folders)) {
      missing.push_back(program);
    }
  }
  return missing.empty() ? std::string() : "there is no " + join(missing, ", no ");
}

// The vote on the route plan; src/inputs and src/rank_table judge the plan.

RoutePlanVote::RoutePlanVote(boost::asio::io_context& io, const std::optional<PlanInput>& input)
    : request_(input ? input->job.route : std::nullopt), timer_(io) {}

std::string RoutePlanVote::check(const RankTableExchange& table) {
  if (!request_ || finding_ || !table.is_here()) {
    return {};
  }
  const rank_table::TableFile& file = table.file();
  auto answer = judge_route(*request_, file.table, table.instance(), find_routes(*request_, file.path));
  if (auto* const finding = std::get_if<RouteFinding>(&answer)) {
    finding_ = std::move(*finding);
    timer_.cancel();
    return {};
  }
  const std::string& missing = std::get<Pending>(answer).reason;
  if (is_late_) {
    finding_.emplace();
    finding_->vote.reason = "waited " + std::to_string(request_->wait_seconds) + " s in vain: " + missing;
    return {};
  }
  wait();
  return missing;
}

void RoutePlanVote::wait() {
  if (is_waiting_) {
    return;
  }
  is_waiting_ = true;
  timer_.expires_after(std::chrono::seconds(request_->wait_seconds));
  timer_.async_wait([this](const boost::system::error_code& error) {
    is_waiting_ = false;
    if (!error) {
      is_late_ = true;
      on_late();
    }
  });
}

std::optional<std::string> RoutePlanVote::take_vote() {
  if (!finding_ || has_voted_) {
    return std::nullopt;
  }
  has_voted_ = true;
  return encode(finding_->vote);
}

void RoutePlanVote::forget() {
  finding_.reset();
  has_voted_ = false;
}

std::vector<int> RoutePlanVote::decided_ranks(const gang::Exchanged& merged, const RankTableExchange& table) const {
  const auto made = merged.find(route_key().name);
  if (made == merged.end() || !finding_) {
    return {};
  }
  const auto decision = read_route_decision(made->second).value();  // written by the same program
  if (!decision.applies) {
    log_info("starting without the route plan on all nodes: " + decision.reason);
    return {};
  }
  log_info("the ranks are those of the route plan that all nodes have");
  return decision.positions.empty() ? finding_->ranks
                                    : rank_table::ranks_by_position(table.file().table, decision.positions);
}

}  // namespace muster
