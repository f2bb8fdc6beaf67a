// An attempt with real processes, and services that the templates do not have yet.
#include "agent/attempt.hpp"

#include "run/run_fixture.hpp"
#include "supervise/first_failure.hpp"

#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <optional>

namespace muster {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Ends badly when its workers run.
class FailsLater : public Service {
 public:
  explicit FailsLater(boost::asio::io_context& io) : io_(io) {}

  Result<std::optional<PlanAdditions>> start(const LaunchPlan& /*plan*/) override {
    return std::optional<PlanAdditions>(std::in_place);
  }
  void on_worker_started(std::size_t worker) override {
    if (worker == 1) {
      boost::asio::post(io_, [this] { report_failure({ErrorKind::System, "its port was closed"}); });
    }
  }

 private:
  boost::asio::io_context& io_;
};

class CannotStart : public Service {
 public:
  Result<std::optional<PlanAdditions>> start(const LaunchPlan& /*plan*/) override {
    return Error{ErrorKind::BadData, "there is no port"};
  }
};

/// When the first worker ended and when the failure was told, and whether the loop has turned in that time.
struct NotesTheFirstEnd : public AttemptOwner {
  void on_first_failure(const Failure& failure) override {
    notified.push_back(failure.service);
    waited = Clock::now() - time.value_or(Clock::now());
    had_turned = has_turned;
  }
  void on_success(const gang::Succeeded& /*succeeded*/) override {}
  void on_workers_asked(int /*signal*/) override {}
  void on_gone() override {}
  void on_over() override { is_over = true; }
  void record(ledger::Event /*event*/) override {}
  std::optional<Clock::time_point> time;
  bool has_turned = false;
  std::vector<std::string> notified;
  Clock::duration waited{};  ///< from the first end until the failure was told
  bool had_turned = false;   ///< the loop, in that time
  bool is_over = false;
};

/// Tells the owner of the first end.
class SeesTheFirstEnd : public Service {
 public:
  SeesTheFirstEnd(boost::asio::io_context& io, NotesTheFirstEnd& notes) : io_(io), notes_(notes) {}

  Result<std::optional<PlanAdditions>> start(const LaunchPlan& /*plan*/) override {
    return std::optional<PlanAdditions>(std::in_place);
  }
  void on_worker_ended(std::size_t /*worker*/, bool /*has_succeeded*/) override {
    if (!notes_.time) {
      notes_.time = Clock::now();
      boost::asio::post(io_, [this] { notes_.has_turned = true; });
    }
  }

 private:
  boost::asio::io_context& io_;
  NotesTheFirstEnd& notes_;
};

/// Two workers that would run for ten minutes.
class AttemptTest : public RunFixture {
 protected:
  /// `script` replaces the program of the first worker, unless it is empty.
  static LaunchPlan plan(const std::string& script) {
    LaunchPlan plan;
    for (int rank = 0; rank < 2; ++rank) {
      WorkerPlan worker;
      worker.global_rank = GlobalRank{rank};
      worker.local_rank = LocalRank{rank};
      worker.argv = {"/bin/sleep", "600"};
      plan.workers.push_back(worker);
    }
    if (!script.empty()) {
      plan.workers.front().argv = {"/bin/sh", "-c", script};
    }
    plan.world_size = 2;
    return plan;
  }

  /// The failure of the node, once the attempt is over.
  void run_with(std::unique_ptr<Service> service) {
    std::vector<NamedService> services;
    services.push_back({"store", std::move(service)});
    run(std::move(services), "");
  }

  void run_script(const std::string& script) {
    std::vector<NamedService> services;
    services.push_back({"first end", std::make_unique<SeesTheFirstEnd>(io_, first_end_)});
    run(std::move(services), script);
  }

  void run(std::vector<NamedService> services, const std::string& script) {
    attempt_.emplace(first_end_,
                     AttemptInput{io_, run_, -1, sidecars_, helpers_, page_, hang_record_, standbys_, read_ahead_},
                     queues_, plan(script), std::make_unique<Services>(std::move(services)));
    attempt_->start();
    const auto deadline = Clock::now() + 20s;
    while (!first_end_.is_over && Clock::now() < deadline) {
      io_.run_one_for(1s);
    }
    ASSERT_TRUE(first_end_.is_over) << "the workers were not ended within 20 s";
  }

  boost::asio::io_context io_;
  GuardSharedMemory& page_ = **GuardSharedMemory::make();
  HelperProcesses helpers_{page_};
  OutputQueues queues_{io_, helpers_, 5s};
  PendingWork pending_;
  Standbys standbys_{io_, helpers_, run_, pending_};
  ReadAhead read_ahead_{io_, helpers_, run_};
  HangRecord hang_record_{queues_.logs()};
  Sidecars sidecars_{io_, inherited_, variables_, marker_};
  std::optional<Attempt> attempt_;
  NotesTheFirstEnd first_end_;
};

TEST_F(AttemptTest, EndsTheWorkersWhenAServiceCannotGoOn) {
  run_with(std::make_unique<FailsLater>(io_));

  EXPECT_EQ(first_end_.notified, std::vector<std::string>{"store"});
  const auto failure = attempt_->results().over().failure;
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->service, "store");
  EXPECT_EQ(failure->start_error, "its port was closed");
  EXPECT_EQ(failure->exit_code, 71);
  for (const WorkerResult& worker : attempt_->results().of_workers()) {
    EXPECT_EQ(worker.outcome, WorkerOutcome::Stopped);
    EXPECT_EQ(worker.status->signal(), SIGTERM);
  }
}

TEST_F(AttemptTest, StartsNoWorkerWhenAServiceCannotStart) {
  run_with(std::make_unique<CannotStart>());

  EXPECT_EQ(first_end_.notified, std::vector<std::string>{"store"});
  EXPECT_EQ(attempt_->results().over().failure->exit_code, 65);
  for (const WorkerResult& worker : attempt_->results().of_workers()) {
    EXPECT_EQ(worker.outcome, WorkerOutcome::NeverStarted);
  }
}

TEST_F(AttemptTest, AnErrorWaitsForAnEarlierCrash) {
  run_script("exit 3");

  EXPECT_GE(first_end_.waited, kOrderWindow);
  EXPECT_EQ(attempt_->results().over().failure->exit_code, 3);
}

TEST_F(AttemptTest, ACrashIsActedUponAtOnce) {
  run_script("kill -SEGV $$");

  EXPECT_FALSE(first_end_.had_turned) << "it is acted upon as soon as it is found";
  EXPECT_EQ(attempt_->results().over().failure->exit_code, 128 + SIGSEGV);
}

}  // namespace
}  // namespace muster
