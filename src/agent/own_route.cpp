// Waiting for a route plan; what it is worth is decided in inputs/ and rank_table/.
#include "agent/own_route.hpp"

#include "base/log.hpp"
#include "exchange/exchanged_route.hpp"

#include <chrono>

namespace muster {

RoutePlanVote::RoutePlanVote(boost::asio::io_context& io, const std::optional<PlanInput>& input)
    : request_(input ? input->job.route : std::nullopt), timer_(io) {}

std::string RoutePlanVote::look(const RankTableExchange& table) {
  if (!request_ || finding_ || !table.is_here()) {
    return {};
  }
  const rank_table::TableFile& file = table.file();
  auto answer =
      judge_route(*request_, file.table, table.instance(), find_routes(*request_, file.path));
  if (auto* const finding = std::get_if<RouteFinding>(&answer)) {
    finding_ = std::move(*finding);
    timer_.cancel();
    return {};
  }
  const std::string& missing = std::get<Pending>(answer).reason;
  if (is_late_) {
    finding_.emplace();
    finding_->vote.reason =
        "waited " + std::to_string(request_->wait_seconds) + " s in vain: " + missing;
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
  if (!finding_ || is_told_) {
    return std::nullopt;
  }
  is_told_ = true;
  return encode(finding_->vote);
}

void RoutePlanVote::forget() {
  finding_.reset();
  is_told_ = false;
}

std::vector<int> RoutePlanVote::decided_ranks(const gang::Exchanged& merged,
                                              const RankTableExchange& table) const {
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
  return decision.positions.empty()
             ? finding_->ranks
             : rank_table::ranks_by_position(table.file().table, decision.positions);
}

}  // namespace muster
