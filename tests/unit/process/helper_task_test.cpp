// Real processes: the answer, and the end of the one that hangs.
#include "process/helper_process.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>

namespace muster {
namespace {

using namespace std::chrono_literals;

class ErrandTest : public testing::Test {
 protected:
  /// Runs the loop until the errand is over.
  HelperTask::Answer answer_of(HelperTask& task, const std::function<std::string()>& work,
                               std::chrono::milliseconds most_time) {
    HelperTask::Answer found = "nobody called";
    task.start({work, most_time, [&](HelperTask::Answer answer) { found = std::move(answer); }});
    io_.restart();
    io_.run();
    return found;
  }

  boost::asio::io_context io_;
  HelperProcesses helpers_{**GuardSharedMemory::make()};
};

TEST_F(ErrandTest, BringsWhatTheWorkReturned) {
  HelperTask task(io_, helpers_);
  const std::string large(100'000, 'x');
  EXPECT_EQ(answer_of(
                task, [] { return std::string("done"); }, 10s),
            "done");
  EXPECT_EQ(answer_of(
                task, [&] { return large; }, 10s),
            large);
  EXPECT_EQ(answer_of(
                task, [] { return std::string(); }, 10s),
            "");
}

TEST_F(ErrandTest, HasNoAnswerOfAProcessThatWasKilled) {
  HelperTask task(io_, helpers_);
  const auto die = [] {
    (void)::raise(SIGKILL);
    return std::string();
  };
  EXPECT_EQ(answer_of(task, die, 10s), std::nullopt);
}

TEST_F(ErrandTest, IsNotCutShortByTheTimeOfTheOneBefore) {
  HelperTask task(io_, helpers_);
  HelperTask::Answer second;
  const std::function<std::string()> done = [] { return std::string("done"); };
  task.start({[] { return ::pause(), std::string(); }, 10s, [](const HelperTask::Answer&) {}});
  task.shorten(0ms);
  io_.poll_one();  // the time is over
  task.start({done, 10s, [&](HelperTask::Answer answer) { second = std::move(answer); }});
  io_.restart();
  io_.run();
  EXPECT_EQ(second, "done");
}

TEST_F(ErrandTest, HasMoreTimeWhileItComputesOrWaitsForACore) {
  HelperTask task(io_, helpers_);
  const auto compute = [] {
    const auto end = std::chrono::steady_clock::now() + 500ms;
    while (std::chrono::steady_clock::now() < end) {
    }
    return std::string("done");
  };
  EXPECT_EQ(answer_of(task, compute, 10ms), "done");
}

TEST_F(ErrandTest, IsOverWhenItsTimeIs) {
  HelperTask task(io_, helpers_);
  const auto hang = [] {
    (void)::pause();
    return std::string();
  };
  EXPECT_EQ(answer_of(task, hang, 10ms), std::nullopt);
  EXPECT_TRUE(helpers_.pids().empty() || ::kill(*helpers_.pids().begin(), 0) == 0);
  EXPECT_EQ(answer_of(
                task, [] { return std::string("the next one"); }, 10s),
            "the next one");
}

TEST_F(ErrandTest, IsOverAtOnceWhenItsTimeIsShortened) {
  HelperTask task(io_, helpers_);
  HelperTask::Answer found = "nobody called";
  const auto hang = [] {
    (void)::pause();
    return std::string();
  };
  task.start({hang, 1h, [&](HelperTask::Answer answer) { found = std::move(answer); }});
  task.shorten(1ms);
  io_.run();
  EXPECT_EQ(found, std::nullopt);
}

TEST_F(ErrandTest, CallsOnlyForTheLastOne) {
  HelperTask task(io_, helpers_);
  task.start({[] { return std::string("first"); }, 10s,
              [](const HelperTask::Answer&) { FAIL() << "another one has taken its place"; }});
  EXPECT_EQ(answer_of(
                task, [] { return std::string("second"); }, 10s),
            "second");
}

TEST_F(ErrandTest, CallsNothingOnceItIsCancelled) {
  HelperTask task(io_, helpers_);
  task.start({[] { return std::string("done"); }, 10s, [](const HelperTask::Answer&) { FAIL() << "was cancelled"; }});
  task.cancel();
  EXPECT_TRUE(task.is_idle());
  io_.run();
}

TEST_F(ErrandTest, MayBeDestroyedByTheCallForItsAnswer) {
  auto task = std::make_unique<HelperTask>(io_, helpers_);
  task->start({[] { return std::string("done"); }, 10s, [&](const HelperTask::Answer&) { task.reset(); }});
  io_.run();
  EXPECT_FALSE(task);
}

TEST_F(ErrandTest, AnswersWithoutALoop) {
  const auto done = [] { return std::string("done"); };
  EXPECT_EQ(HelperTask::wait_for({done, 10s}), "done");
  const auto hang = [] { return ::pause(), std::string(); };
  EXPECT_EQ(HelperTask::wait_for({hang, 10ms}), std::nullopt);
}

TEST_F(ErrandTest, IsDroppedOnlyWhereThatIsAllowed) {
  HelperTask queue(io_, helpers_);
  std::string ended;
  const auto add = [&](const std::string& name, bool may_be_dropped) {
    const auto then = [&, name](const HelperTask::Answer& answer) { ended += name + (answer ? " done, " : " cut, "); };
    const auto hang = [] {
      (void)::pause();
      return std::string();
    };
    const auto work = may_be_dropped ? std::function<std::string()>(hang) : [] { return "x"; };
    queue.add({work, 20s, then, {}, may_be_dropped});
  };
  add("write", true);
  add("remove", false);
  add("later write", true);

  queue.drop();
  io_.run();

  EXPECT_EQ(ended, "write cut, remove done, ");
}

}  // namespace
}  // namespace muster
