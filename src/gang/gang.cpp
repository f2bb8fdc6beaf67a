// Joins decisions with sockets and timers: events in, actions out, one queue, no decision.
#include "decide/encoding.hpp"
#include "decide/leader.hpp"
#include "decide/participant.hpp"
#include "wire/dialer.hpp"
#include "wire/frame.hpp"
#include "wire/link.hpp"
#include "wire/listener.hpp"
#include "wire/resolver.hpp"

#include <muster/gang/gang.hpp>
#include <muster/logs/messages.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>

namespace muster::gang {
namespace {

using boost::asio::ip::tcp;
using Clock = std::chrono::steady_clock;

/// So many strangers are named, each once; a port scan must not fill the log.
constexpr std::size_t kStrangersNamed = 50;
/// Links that have not said who they are. More than that many agents never come at once.
constexpr std::size_t kLeastPending = 1'024;

/// A handshake takes three times the memory of the link that it leaves, and those of thousands of
/// agents at once leave a heap of holes.
void give_memory_back() {
  (void)::malloc_trim(0);
}

}  // namespace

class Gang::Driver {
 public:
  Driver(boost::asio::io_context& io, GangSetup setup, GangCallbacks callbacks)
      : io_(io),
        setup_(std::move(setup)),
        callbacks_(std::move(callbacks)),
        participant_(setup_.policy, Clock::now()),
        leader_timer_(io),
        participant_timer_(io) {}

  void start() {
    for (const ParticipantAction& action : participant_.start()) {
      std::visit([this](const auto& wanted) { act(wanted); }, action);
    }
    schedule();
  }

  void notify(ParticipantEvent event) { add(std::move(event)); }
  [[nodiscard]] const Contributions& contributions() const { return participant_.contributions(); }

  [[nodiscard]] std::vector<std::string> awaited() const;

 private:
  using Happening = std::variant<LeaderEvent, ParticipantEvent>;

  void add(LeaderEvent event) {
    queue_.emplace_back(std::move(event));
    schedule();
  }
  void add(ParticipantEvent event) {
    queue_.emplace_back(std::move(event));
    schedule();
  }
  void schedule();
  void drain();
  void handle(LeaderEvent& event);
  void handle(ParticipantEvent& event);
  void arm_timers();
  void arm(boost::asio::steady_timer& timer,
           std::optional<Instant>& armed,
           const std::optional<Instant>& wake,
           Happening event);

  // What the leader wants.
  void act(const SendTo& wanted);
  void act(const Drop& wanted);
  void act(const ReservePort& wanted);
  void act(const LookUpHosts& wanted);
  void act(const Say& wanted) { say(wanted.level, wanted.text); }
  void act(const Dissolve& wanted);

  // What the participant wants.
  void act(const Dial& wanted);
  void act(const Tell& wanted);
  void act(const HangUp& wanted);
  void act(const StartAttempt& wanted) { callbacks_.start_attempt(wanted.start, wanted.merged); }
  void act(const Deliver& wanted) { callbacks_.merged(wanted.value); }
  void act(const StopAttempt& wanted) { callbacks_.stop_attempt(wanted); }
  void act(const PassSignal& wanted) { callbacks_.pass_signal(wanted.signal); }
  void act(const KillAttempt& /*wanted*/) { callbacks_.kill_attempt(); }
  void act(const Mention& wanted) { say(wanted.level, wanted.text); }
  void act(const Leave& wanted);

  // The link to the leader.
  void connect();
  void lead_or_connect();
  [[nodiscard]] std::optional<ListenFailure> lead();
  void on_connected(tcp::socket socket);

  // The links of the leader.
  void on_accept(tcp::socket socket);
  void on_message(LinkId link, Message message);
  void on_lost(LinkId link, const std::string& why);
  void name_stranger(const Link& link, const std::string& why);
  [[nodiscard]] std::size_t most_pending() const;
  void finish();

  boost::asio::io_context& io_;
  GangSetup setup_;
  GangCallbacks callbacks_;
  Participant participant_;
  std::optional<Leader> leader_;
  std::deque<Happening> queue_;
  bool is_scheduled_ = false;
  bool has_left_ = false;
  bool is_dissolved_ = false;
  bool is_done_ = false;

  std::unique_ptr<Listener> listener_;
  std::unordered_map<LinkId, std::unique_ptr<Link>> links_;
  std::set<LinkId> pending_;  ///< oldest first: those that have not said who they are
  LinkId next_link_ = kOwnLink + 1;
  std::set<std::string> strangers_;  ///< that have been named, each with its reason

  Resolver resolver_{io_};
  Dialer dialer_{io_};
  std::unique_ptr<Link> to_leader_;
  struct LookUp;
  std::unique_ptr<LookUp> look_up_;

  boost::asio::steady_timer leader_timer_;
  boost::asio::steady_timer participant_timer_;
  std::optional<Instant> leader_wake_;
  std::optional<Instant> participant_wake_;
};

/// Looks several names up at once.
struct Gang::Driver::LookUp {
  std::deque<Resolver> resolvers;
  std::set<std::string> unresolved;
  std::size_t open = 0;
};

std::vector<std::string> Gang::Driver::awaited() const {
  std::vector<std::string> names =
      leader_ && !is_done_ ? leader_->awaited() : std::vector<std::string>();
  if (const std::string name = participant_.awaited(); !is_done_ && !name.empty()) {
    names.push_back(name);
  }
  return names;
}

// --- The queue ----------------------------------------------------------------------------------

void Gang::Driver::schedule() {
  if (!is_scheduled_ && !is_done_) {
    is_scheduled_ = true;
    boost::asio::post(io_, [this] { drain(); });
  }
}

void Gang::Driver::drain() {
  while (!queue_.empty() && !is_done_) {
    Happening happening = std::move(queue_.front());
    queue_.pop_front();
    std::visit([this](auto& event) { handle(event); }, happening);
  }
  is_scheduled_ = false;
  if (!is_done_) {
    arm_timers();
  }
}

void Gang::Driver::handle(LeaderEvent& event) {
  if (!leader_) {
    return;
  }
  const bool was_gathering = leader_->state() == Leader::State::Gathering;
  for (const LeaderAction& action : leader_->on(event, Clock::now())) {
    std::visit([this](const auto& wanted) { act(wanted); }, action);
  }
  if (was_gathering && leader_->state() == Leader::State::Running && setup_.key) {
    boost::asio::post(io_, give_memory_back);
  }
}

void Gang::Driver::handle(ParticipantEvent& event) {
  for (const ParticipantAction& action : participant_.on(event, Clock::now())) {
    std::visit([this](const auto& wanted) { act(wanted); }, action);
  }
}

void Gang::Driver::arm_timers() {
  arm(participant_timer_, participant_wake_, participant_.next_wake(), ParticipantEvent(Wake{}));
  arm(leader_timer_,
      leader_wake_,
      leader_ ? leader_->next_wake() : std::nullopt,
      LeaderEvent(Tick{}));
}

void Gang::Driver::arm(boost::asio::steady_timer& timer,
                       std::optional<Instant>& armed,
                       const std::optional<Instant>& wake,
                       Happening event) {
  if (armed == wake) {
    return;
  }
  armed = wake;
  if (!wake) {
    timer.cancel();
    return;
  }
  timer.expires_at(*wake);
  timer.async_wait(
      [this, &armed, event = std::move(event)](const boost::system::error_code& error) {
        if (!error) {
          armed.reset();
          queue_.push_back(event);
          schedule();
        }
      });
}

// --- What the leader wants ----------------------------------------------------------------------

void Gang::Driver::act(const SendTo& wanted) {
  std::shared_ptr<const std::string> framed;
  for (const LinkId link : wanted.links) {
    if (link == kOwnLink) {
      add(ParticipantEvent(FromLeader{wanted.message}));
      continue;
    }
    const auto at = links_.find(link);
    if (at == links_.end()) {
      continue;  // it is gone, and that is in the queue
    }
    if (wanted.links.size() == 1) {
      at->second->send(wanted.message);
      continue;
    }
    if (!framed) {
      framed = std::make_shared<const std::string>(frame(encode(wanted.message)));
    }
    at->second->send_shared(framed);
  }
}

void Gang::Driver::act(const Drop& wanted) {
  pending_.erase(wanted.link);
  if (const auto at = links_.find(wanted.link); at != links_.end()) {
    at->second->close_when_sent();
    links_.erase(at);
  }
}

void Gang::Driver::act(const ReservePort& /*wanted*/) {
  const auto port = callbacks_.reserve_port();
  add(LeaderEvent(port ? PortReserved{*port, {}} : PortReserved{0, port.error().message}));
}

void Gang::Driver::act(const LookUpHosts& wanted) {
  look_up_ = std::make_unique<LookUp>();
  look_up_->open = wanted.names.size();
  for (const std::string& name : wanted.names) {
    look_up_->resolvers.emplace_back(io_).resolve(name, [this, name](const auto& addresses) {
      if (!addresses) {
        look_up_->unresolved.insert(name);
      }
      if (--look_up_->open == 0) {
        add(LeaderEvent(HostsLookedUp{look_up_->unresolved}));
      }
    });
  }
}

void Gang::Driver::act(const Dissolve& /*wanted*/) {
  is_dissolved_ = true;
  if (has_left_) {
    finish();
  }
}

// --- What the participant wants -----------------------------------------------------------------

void Gang::Driver::act(const Dial& /*wanted*/) {
  if (setup_.lead == Lead::Always) {
    if (const auto failure = lead()) {
      add(ParticipantEvent(DialFailed{failure->error.message, !failure->is_in_use}));
    }
  } else if (setup_.lead == Lead::IfItsOurs) {
    lead_or_connect();
  } else {
    connect();
  }
}

void Gang::Driver::act(const Tell& wanted) {
  if (leader_) {
    const auto* const join = std::get_if<Join>(&wanted.message);
    add(join != nullptr ? LeaderEvent(Arrived{kOwnLink, {}, {}, *join})
                        : LeaderEvent(Received{kOwnLink, wanted.message}));
  } else if (to_leader_) {
    to_leader_->send(wanted.message);
  }
}

void Gang::Driver::act(const HangUp& /*wanted*/) {
  if (to_leader_) {
    to_leader_->close_when_sent();
    to_leader_.reset();
  }
}

void Gang::Driver::act(const Leave& wanted) {
  has_left_ = true;
  callbacks_.leave(wanted.end);
  // A leader that goes before everybody has been told was forced to.
  const bool is_awaited = leader_ && !is_dissolved_ && leader_->state() == Leader::State::Finishing;
  if (!is_awaited) {
    finish();
  }
}

void Gang::Driver::finish() {
  if (is_done_) {
    return;
  }
  is_done_ = true;
  leader_timer_.cancel();
  participant_timer_.cancel();
  boost::asio::post(io_, [this] { callbacks_.done(); });
}

// --- The link to the leader ---------------------------------------------------------------------

/// Opens the port and takes the lead. Fails when somebody else has the port.
std::optional<ListenFailure> Gang::Driver::lead() {
  if (setup_.policy.job.most_nodes > 1) {
    auto listener = Listener::open(io_, setup_.policy.port);
    if (!listener) {
      return listener.error();
    }
    listener_ = std::move(*listener);
    listener_->on_remark = [](const std::string& remark) { say_warning(remark); };
    listener_->on_accept = [this](tcp::socket socket) { on_accept(std::move(socket)); };
    listener_->start();
    if (!setup_.key) {
      say_info(
          "the links between the nodes are not encrypted: whoever reaches this port can disturb "
          "the "
          "job (--token-file)");
    }
  }
  leader_.emplace(setup_.policy, Clock::now());
  add(ParticipantEvent(LinkUp{/*is_own=*/true}));
  return std::nullopt;
}

/// No node rank is given: the agent that owns the address and gets the port leads.
void Gang::Driver::lead_or_connect() {
  resolver_.resolve(setup_.policy.host, [this](const auto& addresses) {
    const bool is_ours =
        addresses && std::any_of(addresses->begin(), addresses->end(), [](const auto& address) {
          return is_own(address);
        });
    const auto failure = is_ours ? lead() : std::nullopt;
    if (failure && !failure->is_in_use) {
      add(ParticipantEvent(DialFailed{failure->error.message, /*is_final=*/true}));
    } else if (!is_ours || failure) {
      connect();  // which says what is wrong with the name, or finds who was faster
    }
  });
}

void Gang::Driver::connect() {
  dialer_.dial(setup_.policy.host,
               setup_.policy.port,
               [this](boost::system::result<tcp::socket, DialFailure> socket) {
                 if (socket) {
                   on_connected(std::move(*socket));
                 } else {
                   add(ParticipantEvent(DialFailed{socket.error().text}));
                 }
               });
}

void Gang::Driver::on_connected(tcp::socket socket) {
  to_leader_ = std::make_unique<Link>(std::move(socket), setup_.key.get(), Link::Side::Agent);
  to_leader_->on_message = [this](Message message) {
    add(ParticipantEvent(FromLeader{std::move(message)}));
  };
  to_leader_->on_lost = [this](const std::string& why) {
    to_leader_.reset();
    add(ParticipantEvent(LinkDown{why}));
  };
  to_leader_->start();
  add(ParticipantEvent(LinkUp{}));
}

// --- The links of the leader --------------------------------------------------------------------

void Gang::Driver::on_accept(tcp::socket socket) {
  const LinkId link = next_link_++;
  auto made = std::make_unique<Link>(std::move(socket), setup_.key.get(), Link::Side::Leader);
  made->on_message = [this, link](Message message) { on_message(link, std::move(message)); };
  made->on_lost = [this, link](const std::string& why) { on_lost(link, why); };
  Link& started = *links_.emplace(link, std::move(made)).first->second;
  pending_.insert(link);
  started.start();
  const auto most = most_pending();
  if (pending_.size() > most) {
    act(Drop{*pending_.begin()});
  }
}

/// Strangers never get more than a quarter of the descriptors: the workers' pipes need them.
std::size_t Gang::Driver::most_pending() const {
  rlimit limit{};
  const bool is_known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
  const auto wanted =
      std::max(kLeastPending, 2 * static_cast<std::size_t>(setup_.policy.job.most_nodes));
  return is_known ? std::min(wanted, static_cast<std::size_t>(limit.rlim_cur) / 4) : wanted;
}

void Gang::Driver::on_message(LinkId link, Message message) {
  if (pending_.erase(link) > 0) {  // the link lets nothing but a Join through first
    const Link& from = *links_.at(link);
    add(LeaderEvent(Arrived{
        link, from.peer_address(), from.local_address(), std::get<Join>(std::move(message))}));
  } else {
    add(LeaderEvent(Received{link, std::move(message)}));
  }
}

void Gang::Driver::on_lost(LinkId link, const std::string& why) {
  const auto at = links_.find(link);
  if (at == links_.end()) {
    return;
  }
  if (pending_.erase(link) > 0) {
    name_stranger(*at->second, why);
  } else {
    add(LeaderEvent(LinkLost{link, why}));
  }
  links_.erase(at);
}

void Gang::Driver::name_stranger(const Link& link, const std::string& why) {
  const std::string who = link.peer_address() + ": it " + why;
  if (strangers_.size() < kStrangersNamed && strangers_.insert(who).second) {
    say_warning("refused a connection from " + who +
                (strangers_.size() == kStrangersNamed ? "; further ones are not named" : ""));
  }
}

// --- The public face ----------------------------------------------------------------------------

Gang::Gang(boost::asio::io_context& io, GangSetup setup, GangCallbacks callbacks)
    : driver_(std::make_unique<Driver>(io, std::move(setup), std::move(callbacks))) {}

Gang::~Gang() = default;

void Gang::start() {
  driver_->start();
}

std::vector<std::string> Gang::awaited() const {
  return driver_->awaited();
}

void Gang::notify(NodeEvent event) {
  std::visit([this](auto& happened) { driver_->notify(std::move(happened)); }, event);
}

Result<> Gang::contribute(Contributed value) {
  std::string wrong = driver_->contributions().objection(value.key, value.bytes.size());
  if (!wrong.empty()) {
    return Error{ErrorKind::BadData, std::move(wrong)};
  }
  driver_->notify(std::move(value));
  return {};
}

}  // namespace muster::gang
