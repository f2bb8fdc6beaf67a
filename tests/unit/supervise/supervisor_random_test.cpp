// A day of crashes in a moment: random but possible histories, and what must hold in all of them.
// SUPERVISOR_SEED=<number> repeats one; a failure prints it.
#include "seeds.hpp"
#include "supervise/actions.hpp"

#include <algorithm>
#include <random>

namespace muster {
namespace {

constexpr unsigned kHistories = 20'000;

/// Plays the event loop and the workers, and watches the supervisor.
class History {
 public:
  explicit History(unsigned seed) : random_(seed) {
    decides_.resize(static_cast<std::size_t>(pick(0, 6)));
    for (std::size_t i = 0; i < decides_.size(); ++i) {
      decides_[i] = pick(0, 3) > 0;
    }
    if (std::count(decides_.begin(), decides_.end(), true) == 0) {
      decides_.assign(decides_.size(), true);
    }
    supervisor_.emplace(decides_);
  }

  void play() {
    carry_out(supervisor_->start());
    for (int step = 0; step < 400 && !supervisor_->is_finished(); ++step) {
      happen(random_event());
    }
    ASSERT_TRUE(supervisor_->is_finished()) << "it waits for nothing that could come";
    check_the_end();
  }

 private:
  int pick(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }

  /// Something that can happen now, as run/ would tell it.
  Event random_event() {
    while (true) {
      switch (pick(0, 12)) {
        case 0:
          return StopRequested{std::vector{SIGTERM, SIGINT, SIGHUP, SIGQUIT}.at(static_cast<std::size_t>(pick(0, 3)))};
        case 1:
          if (pick(0, 10) == 0) {
            return GuardLost{};
          }
          break;
        case 2:
          if (graces_ > 0) {
            return GraceEnded{};
          }
          break;
        case 3:
          if (is_watched_ && living() == 0) {
            return NothingLeft{};
          }
          break;
        case 4:
          if (is_killed_ && pick(0, 5) == 0) {
            return GaveUpWaiting{};
          }
          break;
        case 5:
          if (pick(0, 5) == 0) {
            was_ordered_ = true;
            return StopOrdered{SIGTERM};
          }
          if (pick(0, 5) == 0) {
            return ServiceFailed{72};
          }
          break;
        case 6:
        case 7:
          if (started_ < decides_.size()) {
            return is_cancelled_ || pick(0, 9) == 0 ? not_started() : start_one();
          }
          break;
        default:
          if (living() > 0) {
            return an_end();
          }
      }
    }
  }

  /// Starting a worker is no event for the supervisor: something else happens beside it.
  Event start_one() {
    alive_.push_back(started_++);
    return random_event();
  }

  Event not_started() {
    const std::size_t worker = started_;
    started_ = decides_.size();
    return WorkerNotStarted{worker, is_cancelled_ ? 0 : 71};
  }

  std::size_t living() const { return alive_.size(); }

  Event an_end() {
    const auto at = alive_.begin() + pick(0, static_cast<int>(alive_.size()) - 1);
    const std::size_t worker = *at;
    alive_.erase(at);
    switch (pick(0, 3)) {
      case 0:
        return failed(worker, pick(1, 255));
      case 1:
        return killed(worker, pick(1, SIGRTMAX));
      default:
        return succeeded(worker);
    }
  }

  void happen(const Event& event) {
    const AttemptOutcome before = supervisor_->conclusion();
    carry_out(supervisor_->on(event));
    const AttemptOutcome after = supervisor_->conclusion();
    EXPECT_TRUE(!before.first_failure || before.first_failure == after.first_failure);
    EXPECT_TRUE(!before.stop_signal || before.stop_signal == after.stop_signal);
    EXPECT_TRUE(before.exit_code == 0 || before.exit_code == after.exit_code || is_end_of_first(event));
    EXPECT_FALSE(after.first_failure && after.stop_signal) << "one cause of the end";
  }

  /// The code of a worker that is dumped is known when it ends.
  bool is_end_of_first(const Event& event) const {
    const auto* const ended = std::get_if<WorkerEnded>(&event);
    return ended != nullptr && supervisor_->conclusion().first_failure == ended->worker;
  }

  void carry_out(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      graces_ += std::holds_alternative<StartGrace>(action) ? 1 : 0;
      kills_ += std::holds_alternative<KillEverything>(action) ? 1 : 0;
      finishes_ += std::holds_alternative<Finish>(action) ? 1 : 0;
      is_cancelled_ |= std::holds_alternative<CancelStart>(action);
      is_killed_ |= std::holds_alternative<KillEverything>(action);
      is_watched_ |= is_killed_ || std::holds_alternative<StopOrphans>(action);
      if (std::holds_alternative<StopOrphans>(action)) {
        EXPECT_FALSE(supervisor_->has_living_workers()) << "orphans are what the ended left";
      }
      if (std::holds_alternative<SendStopSignal>(action)) {
        EXPECT_FALSE(is_killed_) << "nobody is asked who was killed";
      }
    }
    EXPECT_LE(graces_, 1);
    EXPECT_LE(kills_, 1);
  }

  void check_the_end() {
    const AttemptOutcome end = supervisor_->conclusion();
    EXPECT_EQ(finishes_, 1);
    EXPECT_TRUE(end.gave_up || !supervisor_->has_living_workers());
    EXPECT_EQ(end.verdict == Verdict::Succeeded, end.exit_code == 0);
    EXPECT_EQ(end.verdict == Verdict::Failed, end.first_failure || end.exit_code == 72);
    EXPECT_EQ(end.verdict == Verdict::Stopped, end.stop_signal.has_value());
    for (std::size_t i = 0; i < decides_.size(); ++i) {
      check_worker(i, end);
    }
  }

  void check_worker(std::size_t worker, const AttemptOutcome& end) {
    const auto status = supervisor_->status(worker);
    switch (supervisor_->outcome(worker)) {
      case WorkerOutcome::NeverStarted:
        EXPECT_FALSE(status.has_value());
        EXPECT_TRUE(end.exit_code != 0 || was_ordered_ || !decides_[worker]);
        break;
      case WorkerOutcome::Running:
        EXPECT_TRUE(end.gave_up);
        break;
      case WorkerOutcome::Succeeded:
        EXPECT_TRUE(status->ok());
        break;
      case WorkerOutcome::Failed:
        EXPECT_TRUE(end.first_failure == worker || status->signal()) << "the others are echoes";
        EXPECT_TRUE(end.first_failure != worker || end.exit_code == (status->ok() ? 1 : status->shell_code()));
        break;
      case WorkerOutcome::Stopped:
        EXPECT_TRUE(end.exit_code != 0 || was_ordered_ || !decides_[worker]);
        break;
    }
  }

  std::mt19937 random_;
  std::vector<bool> decides_;
  std::optional<Supervisor> supervisor_;
  std::size_t started_ = 0;
  std::vector<std::size_t> alive_;
  bool was_ordered_ = false;
  bool is_cancelled_ = false;
  bool is_killed_ = false;
  bool is_watched_ = false;
  int graces_ = 0;
  int kills_ = 0;
  int finishes_ = 0;
};

TEST(Supervisor, KeepsItsPromisesInEveryRandomHistory) {
  for (const std::uint64_t seed : seeds_to_play("SUPERVISOR_SEED", kHistories)) {
    SCOPED_TRACE("SUPERVISOR_SEED=" + std::to_string(seed));
    History(static_cast<unsigned>(seed)).play();
    if (testing::Test::HasFailure()) {
      return;
    }
  }
}

}  // namespace
}  // namespace muster
