#pragma once

// A leader and a clock. Agents answer what is sent to them only where a test says so, but they all
// breathe: while time passes, each sends its beats until the test makes it silent.

#include "gang/protocol/message_encoding.hpp"
#include "gang/protocol/words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace muster::gang {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline GangConfig job_of(int least, int most) {
  GangConfig config;
  config.job.job_id = "llama";
  config.job.mode = "torchrun";
  config.job.least_nodes = least;
  config.job.most_nodes = most;
  return config;
}
inline GangConfig job_of(int nodes) {
  return job_of(nodes, nodes);
}
/// Each node knows that the others have two ranks, too.
inline GangConfig with_known_ranks(GangConfig config) {
  config.ranks_at = [](const Placement& place) { return std::vector<int>{place.slots_before, place.slots_before + 1}; };
  return config;
}
inline GangConfig restarting(GangConfig config, int most = 3) {
  config.options.restarts.max_restarts = most;
  return config;
}

class LeaderScenario {
 public:
  /// The leader's own agent is there from the start, with two slots as everybody here.
  explicit LeaderScenario(const GangConfig& config, std::optional<int> own_rank = 0)
      : config_(config), leader_(std::make_unique<Leader>(config, now_)) {
    first_words = arrive(kOwnLink, own_rank);
  }

  /// A join as the job expects it, by the agent on "host-<letter of the link>".
  Join join_of(LinkId link, std::optional<int> rank) {
    Join join;
    join.job = normalized(config_.job);
    join.incarnation = "incarnation " + std::to_string(++joins_);
    join.node.slots = 2;
    join.node.host = std::string("host-") + static_cast<char>('a' + link % 26);
    if (rank) {
      join.node.rank = NodeRank{*rank};
    }
    return join;
  }

  std::string arrive(LinkId link, std::optional<int> rank = std::nullopt) { return arrive(link, join_of(link, rank)); }
  std::string arrive(LinkId link, Join join) {
    if (link == kOwnLink) {
      return happen(Joined{link, "", "", std::move(join)});
    }
    breathing_.insert(link);
    return happen(Joined{link, "10.0.0." + std::to_string(link + 1), "10.0.0.1", std::move(join)});
  }
  /// Agents 1 to nodes-1, each with its own rank.
  std::string arrive_all(int nodes) {
    std::string last;
    for (int node = 1; node < nodes; ++node) {
      last = arrive(static_cast<LinkId>(node), node);
    }
    return last;
  }

  std::string receive(LinkId link, Message message) { return happen(Received{link, std::move(message)}); }
  std::string lose(LinkId link) {
    breathing_.erase(link);
    return happen(LinkLost{link, "closed the connection"});
  }
  /// Every agent of the attempt says that nothing is alive there; returns what follows.
  std::string end_all(int attempt = 0) {
    std::string last;
    for (const LinkId link : std::vector<LinkId>(leader_->nodes())) {
      last = receive(link, AttemptOver{attempt, std::nullopt, std::nullopt});
    }
    return last;
  }
  /// An attempt from the first failure until nothing is alive any more.
  std::string fail_all(int attempt, const Failure& failure = failure_of(1)) {
    (void)receive(kOwnLink, Failed{attempt, failure});
    return end_all(attempt);
  }

  void silence(LinkId link) { breathing_.erase(link); }

  /// Lets time pass, wakes the leader at its timers, and returns its actions.
  std::string wait(milliseconds duration) {
    const Instant until = now_ + duration;
    std::string text;
    while (now_ < until) {
      const Instant breath = std::min(now_ + kBreath, until);
      for (auto wake = leader_->next_wake(); wake && *wake <= breath; wake = leader_->next_wake()) {
        if (++wakes > kMostWakes) {
          ADD_FAILURE() << "it asks to be woken again and again";
          return text;
        }
        now_ = std::max(now_, *wake);
        add(text, happen(Tick{}));
      }
      now_ = breath;
      for (const LinkId link : breathing_) {
        (void)happen(Received{link, Heartbeat{}});
      }
    }
    return text;
  }

  /// Time passes, and nobody notices: the machine slept.
  void sleep(milliseconds duration) { now_ += duration; }

  std::string happen(const LeaderEvent& event) {
    LeaderActions actions = leader_->on(event, now_);
    std::string text = words_of(actions);
    for (const LeaderAction& action : actions) {
      if (const auto* const say = std::get_if<LogLine>(&action)) {
        said.push_back(say->text);
        warnings += say->level == Level::Warning ? 1 : 0;
      } else if (const auto* const sent = std::get_if<SendTo>(&action)) {
        note(*sent);
      } else if (const auto* const bad = std::get_if<KeepBadNode>(&action)) {
        kept.push_back(bad->machine);
      } else if (std::holds_alternative<ReservePort>(action) && answers_port) {
        add(text, happen(PortReserved{{++port}, ""}));
      }
    }
    return text;
  }

  bool has_said(const std::string& words) const {
    return std::any_of(said.begin(), said.end(),
                       [&](const std::string& line) { return line.find(words) != std::string::npos; });
  }
  std::string all_said() const {
    std::string text;
    for (const std::string& line : said) {
      text += line + "\n";
    }
    return text;
  }

  Leader::State state() const { return leader_->state(); }
  const Leader& leader() const { return *leader_; }
  Instant now() const { return now_; }

  std::string first_words;  ///< the answer to the leader's own agent
  std::vector<std::string> said;
  std::vector<std::string> kept;  ///< machines that are written to the file of bad nodes
  int warnings = 0;
  std::optional<JobEnd> end;        ///< the last one that was told
  std::optional<Start> last_start;  ///< of the node with the highest rank
  StatusReport last_report;
  std::vector<std::string> announced;
  std::map<LinkId, StatusQuery> asked;  ///< the last question to each agent
  std::uint16_t port = 4'000;           ///< the last one that was reserved
  bool answers_port = true;
  int wakes = 0;

 private:
  static constexpr seconds kBreath{1};
  static constexpr int kMostWakes = 100'000;

  static void add(std::string& text, const std::string& more) {
    text += (text.empty() || more.empty() ? "" : " | ") + more;
  }

  void note(const SendTo& sent) {
    if (const auto* const finish = std::get_if<Finish>(&sent.message)) {
      end = finish->end;
    } else if (const auto* const stop = std::get_if<Stop>(&sent.message); stop && stop->end) {
      end = stop->end;
    } else if (const auto* const start = std::get_if<Start>(&sent.message)) {
      last_start = *start;
    } else if (const auto* const report = std::get_if<StatusReport>(&sent.message)) {
      last_report = *report;
    } else if (const auto* const line = std::get_if<Announce>(&sent.message)) {
      announced.push_back(line->text);
    } else if (const auto* const query = std::get_if<StatusQuery>(&sent.message)) {
      for (const LinkId link : sent.links) {
        asked[link] = *query;
      }
    }
  }

  GangConfig config_;
  Instant now_{std::chrono::hours(1'000)};
  std::unique_ptr<Leader> leader_;  // it does not move
  std::set<LinkId> breathing_;
  int joins_ = 0;
};

/// A job of nodes 0 to n-1 whose first attempt runs.
inline LeaderScenario running(const GangConfig& config, int nodes) {
  LeaderScenario scenario(config);
  (void)scenario.arrive_all(nodes);
  (void)scenario.wait(config.job.least_nodes == config.job.most_nodes ? milliseconds(0) : config.options.last_call);
  EXPECT_EQ(scenario.state(), Leader::State::Running);
  return scenario;
}
inline LeaderScenario running(int nodes) {
  return running(job_of(nodes), nodes);
}

}  // namespace muster::gang
