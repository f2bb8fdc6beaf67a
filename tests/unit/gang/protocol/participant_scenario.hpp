#pragma once

// One agent and a clock. The leader answers its beats until a test makes it silent; everything else
// that it says, and what the workers do, is told by the test.

#include "gang/protocol/words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

namespace muster::gang {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline GangConfig agent_of(std::uint64_t seed = 1) {
  GangConfig config;
  config.job.job_id = "llama";
  config.node.rank = NodeRank{1};
  config.job.most_nodes = config.job.least_nodes = 2;
  config.seed = seed;
  config.host = "llm-0";
  config.port = 29'500;
  return config;
}

class ParticipantScenario {
 public:
  explicit ParticipantScenario(GangConfig config = agent_of())
      : participant_(std::make_shared<Participant>(std::move(config), now_)) {
    first_words = take(participant_->start());
  }

  /// Passes an event to the agent and returns its actions. Heartbeats and their answers have no text.
  std::string happen(const ParticipantEvent& event) { return take(participant_->on(event, now_)); }
  std::string receive(Message message) { return happen(FromLeader{std::move(message)}); }
  std::string signal(int number) { return happen(StopSignal{number}); }

  /// Lets time pass, wakes the agent at its timers, and returns its actions.
  std::string wait(milliseconds duration) {
    const Instant until = now_ + duration;
    std::string text;
    for (auto wake = participant_->next_wake(); wake && *wake <= until; wake = participant_->next_wake()) {
      now_ = std::max(now_, *wake);
      if (++wakes > kMostWakes) {
        ADD_FAILURE() << "it asks to be woken again and again";
        break;
      }
      add(text, happen(Wake{}));
    }
    now_ = until;
    return text;
  }
  /// Time passes, and nobody notices: the agent was stopped, or the machine slept.
  void sleep(milliseconds duration) { now_ += duration; }

  bool has_said(const std::string& words) const {
    return std::any_of(said.begin(), said.end(),
                       [&](const std::string& line) { return line.find(words) != std::string::npos; });
  }

  Participant::State state() const { return participant_->state(); }
  std::optional<Instant> next_wake() const { return participant_->next_wake(); }
  Lease lease() const { return participant_->lease(); }
  Instant now() const { return now_; }

  std::string first_words;
  std::vector<std::string> said;
  std::optional<Join> join;  ///< the last one that was told
  std::optional<JobEnd> end;
  std::optional<Start> start;  ///< with which workers were started last
  Exchanged merged;            ///< with which they were too
  std::vector<Instant> beats;
  std::vector<Instant> dials;
  bool may_lead = true;  ///< at the last of them
  bool leader_answers = true;
  int wakes = 0;

 private:
  static constexpr int kMostWakes = 100'000;

  static void add(std::string& text, const std::string& more) {
    text += (text.empty() || more.empty() ? "" : " | ") + more;
  }

  std::string take(ParticipantActions actions) {
    std::size_t new_beats = 0;
    for (const ParticipantAction& action : actions) {
      if (const auto* const log_line = std::get_if<LogLine>(&action)) {
        said.push_back(log_line->text);
      } else if (const auto* const leave = std::get_if<Leave>(&action)) {
        end = leave->end;
      } else if (const auto* const started = std::get_if<StartAttempt>(&action)) {
        start = started->start;
        merged = started->merged;
      } else if (const auto* const dial = std::get_if<Dial>(&action)) {
        dials.push_back(now_);
        may_lead = dial->may_lead;
      } else if (const auto* const tell = std::get_if<SendToLeader>(&action)) {
        new_beats += std::holds_alternative<Heartbeat>(tell->message) ? 1 : 0;
        if (const auto* const told = std::get_if<Join>(&tell->message)) {
          join = *told;
        }
      }
    }
    std::erase_if(actions, [](const ParticipantAction& action) {
      const auto* const tell = std::get_if<SendToLeader>(&action);
      return tell != nullptr && std::holds_alternative<Heartbeat>(tell->message);
    });
    std::string text = words_of(actions);
    for (; new_beats > 0; --new_beats) {
      beats.push_back(now_);
      if (leader_answers) {
        add(text, receive(Heartbeat{}));
      }
    }
    return text;
  }

  Instant now_{std::chrono::hours(1'000)};
  std::shared_ptr<Participant> participant_;  ///< does not move, but scenarios do
};

inline ParticipantScenario joined(GangConfig config = agent_of()) {
  ParticipantScenario scenario(std::move(config));
  (void)scenario.happen(LinkUp{});
  (void)scenario.receive(Admitted{NodeRank{1}, 8});
  EXPECT_EQ(scenario.state(), Participant::State::Joined);
  return scenario;
}

inline Start start_of(int attempt, double orphan_limit = 0) {
  Start start;
  start.placement.attempt = attempt;
  start.placement.node_rank = NodeRank{1};
  start.placement.nodes = 2;
  start.orphan_limit_seconds = orphan_limit;
  return start;
}

/// Workers of attempt 0 run. With a limit, the job may go on without this node.
inline ParticipantScenario running_participant(double orphan_limit = 0) {
  ParticipantScenario scenario = joined();
  EXPECT_EQ(scenario.receive(start_of(0, orphan_limit)), "start workers of 0");
  EXPECT_EQ(scenario.state(), Participant::State::Running);
  return scenario;
}

/// The leader has had attempt 0 stopped; with an end, there is no other attempt.
inline ParticipantScenario stopping(std::optional<JobEnd> end = std::nullopt, double orphan_limit = 0) {
  ParticipantScenario scenario = running_participant(orphan_limit);
  EXPECT_EQ(scenario.receive(Stop{0, SIGTERM, "rank 0 on node 0 (host-a) failed", std::move(end)}),
            "stop workers by SIGTERM");
  EXPECT_EQ(scenario.state(), Participant::State::Stopping);
  return scenario;
}

/// Nothing of attempt 0 is left here.
inline ParticipantScenario over(std::optional<JobEnd> end = std::nullopt) {
  ParticipantScenario scenario = stopping(std::move(end));
  EXPECT_EQ(scenario.happen(AttemptOver{}), "tell ended 0");
  EXPECT_EQ(scenario.state(), Participant::State::Over);
  return scenario;
}

/// The leader's own agent, whose link is no socket.
inline ParticipantScenario leading() {
  ParticipantScenario scenario;
  EXPECT_EQ(scenario.happen(LinkUp{/*is_own=*/true}), "tell join as node 1");
  (void)scenario.receive(Admitted{NodeRank{0}, 8});
  return scenario;
}

inline JobEnd end_of(Verdict verdict, int exit_code) {
  JobEnd end;
  end.verdict = verdict;
  end.exit_code = exit_code;
  return end;
}

}  // namespace muster::gang
