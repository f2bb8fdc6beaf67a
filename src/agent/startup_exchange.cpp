// Takes rank tables, votes on the route plan, and contributes this node's values before a start.
#include "agent/startup_exchange.hpp"

#include "base/log.hpp"
#include "base/text.hpp"
#include "exchange/startup_values.hpp"
#include "rank_table/rewrite.hpp"
#include "rank_table/table_plan.hpp"
#include "rank_table/topology.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace muster {
namespace {

/// True if the file replaces the one before. Without version numbers, the content that was read last is the newest.
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
             "', which can have one pod_ip: MindSpore's scheduler finds only the ranks of the first pod, "
             "and perhaps gives the other pods other ranks than the table");
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

/// True if there are other nodes: without them there is nothing to compare.
bool RankTableExchange::has_peers() const {
  return input_->cluster.job.most_nodes > 1 || needs_addresses();
}

bool RankTableExchange::needs_addresses() const {
  const auto& inputs = input_->mode.mode.inputs;
  return std::any_of(inputs.begin(), inputs.end(), [](const InputTemplate& input) { return input.adds_pod_addresses; });
}

TableContribution RankTableExchange::contribution() const {
  if (input_ && input_->generated) {
    return {std::nullopt, LocalServer{*input_->generated, input_->snapshot.host_name}};
  }
  if (!now_ || !has_peers()) {
    return {};
  }
  PartOfTable part{now_->ranks, {}, now_->file.version, input_->cluster.job.most_nodes};
  if (needs_addresses()) {
    part.server_id = now_->file.table.instances[now_->instance].server_id;
  }
  return {TableReport{now_->summary, part}};
}

std::optional<rank_table::RankedNode> RankTableExchange::part(const Placement& placement, const gang::Exchanged& merged,
                                                              const std::vector<int>& ranks) const {
  const auto agreed = find_agreed<RankTableValue>(merged);
  if (input_ && input_->generated && agreed) {
    return part_of_made_table(*input_->generated, placement, *agreed);
  }
  if (!now_) {
    return std::nullopt;
  }
  const Known* used = &*now_;
  rank_table::Changes changes;
  changes.ranks = ranks;
  if (agreed) {
    const SameTable same = Encoding<SameTable>::read(*agreed).value();  // written by the same program
    changes.pod_addresses = {same.pod_addresses.begin(), same.pod_addresses.end()};
    if (before_ && before_->summary.digest == same.digest) {
      used = &*before_;
      changes.ranks.clear();  // they belong to the newer table
    }
  }
  const auto& file = used->file;
  return rank_table::RankedNode{file.table.size, local_devices(*input_, file, used->instance, changes.ranks),
                                rank_table::rewrite(file.text, file.table, changes)};
}

// The vote on the route plan; src/rank_table judges the plan.

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
  if (!timer_.is_pending()) {
    timer_.start(std::chrono::seconds(request_->wait_seconds), [this] {
      is_late_ = true;
      on_late();
    });
  }
}

std::optional<rank_table::RouteVote> RoutePlanVote::take_vote() {
  if (!finding_ || has_voted_) {
    return std::nullopt;
  }
  has_voted_ = true;
  return finding_->vote;
}

void RoutePlanVote::forget() {
  finding_.reset();
  has_voted_ = false;
}

std::vector<int> RoutePlanVote::decided_ranks(const gang::Exchanged& merged, const RankTableExchange& table) const {
  const auto decision = find_agreed<RoutePlanValue>(merged);
  if (!decision || !finding_) {
    return {};
  }
  if (!decision->applies) {
    log_info("all nodes start without the route plan, because " + decision->reason);
    return {};
  }
  log_info("the ranks are those of the route plan that all nodes have");
  return decision->positions.empty() ? finding_->ranks
                                     : rank_table::ranks_by_position(table.file().table, decision->positions);
}

// Values that this node contributes before the start.

StartupExchange::StartupExchange(boost::asio::io_context& io, const RunContext& run, gang::Gang& gang)
    : run_(run),
      gang_(gang),
      ports_(reserve_ports(run.job.ports_to_reserve)),
      inputs_(io, run.job.inputs, run.job.gang.config.options.inputs_timeout),
      table_(run.job.input),
      route_(io, run.job.input) {
  inputs_.on_changed = std::bind_front(&StartupExchange::on_inputs_changed, this);
  inputs_.take_new_table = std::bind_front(&StartupExchange::take_table, this);
  inputs_.find_route = std::bind_front(&StartupExchange::find_route, this);
  inputs_.on_failed = [this](EndKind kind, const std::string& why) { gang_.notify(gang::InputsFailed{kind, why}); };
  route_.on_late = [this] { inputs_.check(); };
  if (route_.is_wanted()) {
    inputs_.watch_as_well(route_.file());
  }
}

Result<> StartupExchange::contribute() {
  TRY(contribute_table());
  if (!ports_) {
    return ports_.error();
  }
  for (gang::Contributed& value : startup_contributions({run_, *ports_})) {
    TRY(gang_.contribute(std::move(value)));
  }
  return {};
}

void StartupExchange::start() {
  route_.forget();  // the platform may have planned anew for the same table
  inputs_.start();
}

void StartupExchange::cancel() {
  has_started_ = true;
  inputs_.cancel();
  route_.cancel();
}

std::optional<rank_table::RankedNode> StartupExchange::table_of(const Placement& placement,
                                                                const gang::Exchanged& merged) const {
  return table_.part(placement, merged, route_.decided_ranks(merged, table_));
}

void StartupExchange::on_inputs_changed(const std::string& waits_for) {
  if (!has_started_) {  // before a restart the leader logs what it waits for
    log_info(waits_for.empty() ? "all inputs are here" : "waiting for the " + waits_for);
  }
  missing_input_ = waits_for;
  tell_gang();
}

void StartupExchange::wait_for(const std::string& what) {
  other_wait_ = what;
  tell_gang();
}

void StartupExchange::tell_gang() {
  const std::string& waits_for = missing_input_.empty() ? other_wait_ : missing_input_;
  gang_.notify(gang::InputsChanged{waits_for.empty() ? "" : "its " + waits_for});
}

/// Takes a new or changed rank table of this node and contributes its summary.
Result<> StartupExchange::take_table(rank_table::TableFile file) {
  route_.forget();
  auto taken = table_.take(std::move(file), has_started_);
  return taken ? contribute_table() : taken;
}

/// Returns what the route plan still waits for; empty: this node's vote has been sent to the others.
std::string StartupExchange::find_route() {
  std::string missing = route_.check(table_);
  if (auto vote = route_.take_vote()) {
    gang_.contribute(contribution_of<RoutePlanValue>(*vote)).value();  // its size has a limit
  }
  return missing;
}

/// Contributes nothing if the table has not changed.
Result<> StartupExchange::contribute_table() {
  const TableContribution own = table_.contribution();
  return own.is_empty() ? Result<>() : gang_.contribute(contribution_of<RankTableValue>(own));
}

}  // namespace muster
