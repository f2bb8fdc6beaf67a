// Connects the decisions of leader and participant with sockets and timers: takes events, runs actions from one
// queue, decides nothing.
#include "gang/gang.hpp"

#include "base/log.hpp"
#include "environment/local_host.hpp"

#include <boost/asio/post.hpp>

#include <malloc.h>

#include <algorithm>
#include <functional>

namespace muster::gang {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kManyAgents = 64;

}  // namespace

void return_memory(boost::asio::io_context& io, std::size_t agents) {
  if (agents >= kManyAgents) {
    boost::asio::post(io, [] { (void)::malloc_trim(0); });
  }
}

Gang::Gang(boost::asio::io_context& io, GangSetup setup, NodeActions& node)
    : io_(io),
      setup_(std::move(setup)),
      node_(node),
      participant_(setup_.config, Clock::now()),
      links_(io, setup_.key.get(), setup_.most_strangers, *this),
      to_leader_(io, setup_.config, setup_.key.get(), *this),
      leader_timer_(io),
      participant_timer_(io) {}

void Gang::start() {
  for (const ParticipantAction& action : participant_.start()) {
    std::visit([this](const auto& wanted) { act(wanted); }, action);
  }
  schedule();
}

void Gang::notify(NodeEvent event) {
  add(ParticipantEvent(std::move(event)));
}

Result<> Gang::contribute(Contributed value) {
  std::string wrong = participant_.contributions().objection(value.key, value.bytes.size());
  if (!wrong.empty()) {
    return Error{ErrorKind::BadData, std::move(wrong)};
  }
  notify(std::move(value));
  return {};
}

std::vector<std::string> Gang::awaited() const {
  std::vector<std::string> names = leader_ && !is_done_ ? leader_->awaited() : std::vector<std::string>();
  if (const std::string name = participant_.awaited(); !is_done_ && !name.empty()) {
    names.push_back(name);
  }
  return names;
}

// --- Event queue --------------------------------------------------------------------------------

void Gang::schedule() {
  if (!is_scheduled_ && !is_done_) {
    is_scheduled_ = true;
    boost::asio::post(io_, std::bind_front(&Gang::drain, this));  // the checks would take a lambda for a recursion
  }
}

void Gang::drain() {
  note_standstill();
  while (!queue_.empty() && !is_done_) {
    Event event = std::move(queue_.front());
    queue_.pop_front();
    std::visit([this](auto& one) { handle(one); }, event);
  }
  is_scheduled_ = false;
  if (!is_done_) {
    arm(participant_timer_, participant_wake_, participant_.next_wake(), ParticipantEvent(Wake{}));
    arm(leader_timer_, leader_wake_, leader_ ? leader_->next_wake() : std::nullopt, LeaderEvent(Tick{}));
    const auto first = participant_wake_ && leader_wake_ ? std::min(participant_wake_, leader_wake_)
                                                         : std::max(participant_wake_, leader_wake_);
    standstill_.note_rest(Clock::now(), first);
  }
}

/// Reports a standstill before the events that came meanwhile, such as lost links: it may be their reason.
void Gang::note_standstill() {
  if (const auto still = standstill_.note_turn(Clock::now())) {
    queue_.emplace_front(ParticipantEvent(*still));
    queue_.emplace_front(LeaderEvent(*still));  // does nothing if this agent does not lead
  }
}

void Gang::handle(LeaderEvent& event) {
  const auto* const arrived = std::get_if<Joined>(&event);
  const bool is_ourselves =
      arrived != nullptr && arrived->link != kOwnLink && arrived->join.incarnation == incarnation_;
  if (is_ourselves) {
    links_.drop(arrived->link);
  }
  if (!leader_ && arrived != nullptr) {
    lead_as_reached(is_ourselves ? nullptr : &event);
    return;
  }
  if (!leader_ || is_ourselves) {
    return;
  }
  const bool was_gathering = leader_->state() == Leader::State::Rendezvous;
  for (const LeaderAction& action : leader_->on(event, Clock::now())) {
    std::visit([this](const auto& wanted) { act(wanted); }, action);
  }
  participant_.note_turn(Clock::now());
  node_.renew_lease(participant_.lease());
  if (was_gathering && leader_->state() != Leader::State::Rendezvous) {
    other_leader_.reset();
  }
  if (was_gathering && leader_->state() == Leader::State::Running) {
    return_memory(io_, leader_->nodes().size());
  }
}

void Gang::handle(ParticipantEvent& event) {
  const ParticipantActions actions = participant_.on(event, Clock::now());
  node_.renew_lease(participant_.lease());  // before anything starts that depends on the lease
  for (const ParticipantAction& action : actions) {
    std::visit([this](const auto& wanted) { act(wanted); }, action);
  }
}

void Gang::arm(boost::asio::steady_timer& timer, std::optional<Instant>& armed, const std::optional<Instant>& wake,
               Event event) {
  if (armed == wake) {
    return;
  }
  armed = wake;
  if (!wake) {
    timer.cancel();
    return;
  }
  timer.expires_at(*wake);
  timer.async_wait([this, &armed, event = std::move(event)](const boost::system::error_code& error) {
    if (!error) {
      armed.reset();
      queue_.push_back(event);
      schedule();
    }
  });
}

// --- Actions of the leader ----------------------------------------------------------------------

std::vector<NodePlace> Gang::nodes() const {
  std::vector<NodePlace> places;
  if (leader_) {
    for (const ExchangeNode& node : leader_->exchange_nodes()) {
      const Member* const member = leader_->roster().find(node.link);
      places.push_back({node.address, member == nullptr ? 0 : member->join.node.slots});
    }
  }
  return places;
}

std::string Gang::last_to_come() const {
  const Member* last = nullptr;
  for (const LinkId link : leader_ && leader_->nodes().size() > 1 ? leader_->nodes() : std::vector<LinkId>()) {
    const Member* const member = leader_->roster().find(link);
    if (member != nullptr && member->node_rank && (last == nullptr || member->came > last->came)) {
      last = member;
    }
  }
  return last == nullptr ? std::string() : "node " + to_string(*last->node_rank);
}

void Gang::act(const SendTo& wanted) {
  for (const LinkId link : wanted.links) {
    if (link == kOwnLink) {
      add(ParticipantEvent(FromLeader{wanted.message}));
    }
  }
  links_.send(wanted);
}

void Gang::act(const ReservePort& /*wanted*/) {
  const auto offer = node_.reserve_ports();
  add(LeaderEvent(offer ? PortReserved{*offer, {}} : PortReserved{{}, offer.error().message}));
}

void Gang::act(const LookUpHosts& wanted) {
  look_up_ = std::make_unique<HostLookUp>();
  look_up_->open = wanted.names.size();
  for (const std::string& name : wanted.names) {
    // Resolved for the message about missing nodes only: the links must not wait for name servers.
    look_up_->resolvers.emplace_back(io_).resolve_optional(
        name, [this, name](const auto& addresses) { on_looked_up(name, addresses.has_value()); });
  }
}

void Gang::on_looked_up(const std::string& name, bool is_known) {
  if (!is_known) {
    look_up_->unresolved.insert(name);
  }
  if (--look_up_->open == 0) {
    add(LeaderEvent(HostsLookedUp{look_up_->unresolved}));
  }
}

void Gang::act(const GangClosed& /*wanted*/) {
  is_dissolved_ = true;
  if (has_left_) {
    finish();
  }
}

// --- Actions of the participant -----------------------------------------------------------------

void Gang::act(const Dial& wanted) {
  if (setup_.lead == Lead::Always) {
    lead_always();
  } else if (setup_.lead != Lead::Never && wanted.may_lead) {
    lead_or_connect();
  } else {
    to_leader_.connect();
  }
}

void Gang::act(const SendToLeader& wanted) {
  const auto* const join = std::get_if<Join>(&wanted.message);
  if (join != nullptr) {
    incarnation_ = join->incarnation;
  }
  if (leader_) {
    add(join != nullptr ? LeaderEvent(Joined{kOwnLink, {}, {}, *join})
                        : LeaderEvent(Received{kOwnLink, wanted.message}));
  } else {
    to_leader_.send(wanted.message);
  }
}

void Gang::act(const Leave& wanted) {
  has_left_ = true;
  links_.stop_logging();
  node_.on_job_end(wanted.end);
  // A leader that leaves before all nodes know the end was forced to leave.
  const bool is_awaited = leader_ && !is_dissolved_ && leader_->state() == Leader::State::Finishing;
  if (!is_awaited) {
    finish();
  }
}

void Gang::finish() {
  if (is_done_) {
    return;
  }
  is_done_ = true;
  to_leader_.forget();
  other_leader_.reset();
  leader_timer_.cancel();
  participant_timer_.cancel();
  boost::asio::post(io_, [this] { node_.on_gang_closed(); });
}

// --- Choice of the leader -----------------------------------------------------------------------

void Gang::lead_always() {
  if (const auto failure = lead()) {
    if (failure->is_in_use && !other_leader_) {
      ask_other_leader(incarnation_of(setup_.config.seed), "");
    }
    add(ParticipantEvent(describe_failure(*failure)));
    return;
  }
  if (setup_.config.job.most_nodes == 1) {
    return;
  }
  other_leader_.reset();
  to_leader_.check_is_elsewhere([this](const std::string& remark) {
    if (!is_done_ && leader_->state() == Leader::State::Rendezvous) {
      ask_other_leader(incarnation_, remark);
    } else {
      log_info(remark);
    }
  });
}

/// Describes a failure to listen. Does not wait for the port if a person chose it and another program keeps it.
DialFailed Gang::describe_failure(const ListenFailure& failure) {
  constexpr std::chrono::milliseconds kPortTimeout{10'000};                             // a program that is just ending
  const auto port_timeout = std::min(kPortTimeout, setup_.config.options.timeout / 2);  // before this node gives up
  DialFailed failed{.why = failure.error.message, .end = {}, .is_own_port = true};
  if (!failure.is_in_use) {
    failed.end = EndKind::SystemRefused;
    return failed;
  }
  const std::string holder = describe_port_holder(setup_.config.port);
  if (std::exchange(port_holder_, holder) != holder) {
    port_held_since_ = Clock::now();
  }
  failed.why += holder.empty() ? "" : ", held by " + holder;
  const bool is_musters = holder.ends_with("(muster)");
  if (setup_.config.port_option.empty() || holder.empty() || is_musters) {
    return failed;
  }
  failed.last_try = port_held_since_ + port_timeout;
  if (Clock::now() >= *failed.last_try) {
    failed.end = EndKind::Incomplete;
    failed.why += ", which keeps it; give all nodes another one by " + setup_.config.port_option;
  }
  return failed;
}

void Gang::ask_other_leader(const std::string& incarnation, const std::string& remark) {
  other_leader_ = std::make_unique<OtherLeader>(io_, setup_.config, setup_.key.get(), incarnation, remark);
}

/// Opens the port and becomes the leader. Fails if another process has the port.
std::optional<ListenFailure> Gang::lead() {
  if (setup_.config.job.most_nodes > 1) {
    if (auto failure = links_.open(setup_.config.port)) {
      return failure;
    }
  }
  leader_.emplace(setup_.config, Clock::now());
  add(ParticipantEvent(LinkUp{/*is_own=*/true}));
  return std::nullopt;
}

/// Leads, or dials the leader, in a job without node ranks: the agent that owns the address and gets the port leads.
/// With `IfReached` the agent also listens if the address is not its own.
void Gang::lead_or_connect() {
  to_leader_.check_is_this_leader([this](bool is_ours) {
    const auto failure = is_ours ? lead() : std::nullopt;
    if (is_ours && !failure && !muster::is_loopback(setup_.config.host)) {
      say(Level::Info, setup_.config.host_from + " '" + setup_.config.host + "' is this host's own: leading the job");
    }
    if (!is_ours && setup_.lead == Lead::IfReached) {
      (void)links_.open(setup_.config.port);  // if this fails, the agent may still find another leader
    }
    if (failure && !failure->is_in_use) {
      add(ParticipantEvent(DialFailed{failure->error.message, EndKind::SystemRefused}));
    } else if (!is_ours || failure) {
      to_leader_.connect();  // reports a name that does not resolve, or finds a faster leader
    }
  });
}

/// An agent of the job reached this port through the address that all agents are given, so this agent leads. Its own
/// node joins first, as on the owner of the address; then the agent of `arrival` (nullptr: this node reached itself
/// through that address).
void Gang::lead_as_reached(const LeaderEvent* arrival) {
  say(Level::Info, setup_.config.host_from + " '" + setup_.config.host + "' leads to this host: leading the job");
  to_leader_.give_up();
  leader_.emplace(setup_.config, Clock::now());
  std::deque<Event> later = std::exchange(queue_, {});
  ParticipantEvent up(LinkUp{/*is_own=*/true});
  handle(up);
  if (arrival != nullptr) {
    queue_.emplace_back(*arrival);
  }
  queue_.insert(queue_.end(), later.begin(), later.end());
}

}  // namespace muster::gang
