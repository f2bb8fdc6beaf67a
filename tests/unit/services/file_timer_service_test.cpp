// The watchdog of torch as a service: its pipe, whom it has killed, and what it says of that. Real pipes, no clock that is waited for.
#include "base/file_io.hpp"
#include "base/log.hpp"
#include "fake_host.hpp"
#include "services/services.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <utility>

namespace muster {
namespace {

namespace fs = std::filesystem;
using Signals = std::vector<std::pair<int, int>>;

std::string request(int pid, double expires, int signal = SIGKILL) {
  return R"({"version": 1, "pid": )" + std::to_string(pid) + R"(, "scope_id": "step", "expiration_time": )" +
         std::to_string(expires) + R"(, "signal": )" + std::to_string(signal) + "}\n";
}

/// Says what is written into the pipe, and when the service wants to be woken.
struct FakePipe final : public NamedPipe {
  explicit FakePipe(std::optional<double>& seconds) : asked(seconds) {}
  void wake_after(std::optional<std::chrono::nanoseconds> delay) override {
    asked = delay ? std::optional(std::chrono::duration<double>(*delay).count()) : std::nullopt;
  }
  std::optional<double>& asked;
};

class FileTimer : public ::testing::Test, protected FakeHost {
 protected:
  FileTimer() {
    folder_ = ::mkdtemp(folder_.data());
    set_up_messages(Level::Info, false);
    set_log_sink([this](std::string_view line) { said_ += line; });
    plan_.workers.resize(2);
    plan_.workers[0].global_rank = GlobalRank{4};
    plan_.workers[1].global_rank = GlobalRank{5};
    input_.run_folder = folder_;
    input_.variables = {{"TORCHELASTIC_ENABLE_FILE_TIMER", "1"}};
    input_.host = this;
  }
  ~FileTimer() override {
    set_log_sink({});
    fs::remove_all(folder_);
  }

  void write_files(std::string /*what*/, HelperTask::Work work, HelperTask::Then then) override {
    answer_ = [this, work, then] { then(hangs_ ? HelperTask::Answer() : HelperTask::Answer(work())); };
  }
  Result<std::unique_ptr<NamedPipe>> open_pipe(const std::string& /*path*/, PipeOwner& owner) override {
    pipe_owners_.push_back(&owner);
    return std::unique_ptr<NamedPipe>(std::make_unique<FakePipe>(asked_));
  }
  /// Process 70 is of rank 5, 60 of rank 4.
  std::optional<int> rank_of(std::uint32_t pid) const override {
    return pid == 70 || pid == 60 ? std::optional(pid == 70 ? 5 : 4) : std::nullopt;
  }
  std::optional<int> signal_process(int pid, int signal) override {
    asked_for_.emplace_back(pid, signal);
    return rank_of(static_cast<std::uint32_t>(pid));
  }

  void make() {
    service_ = make_file_timer(input_);
    service_->set_owner(owner_);
    pipe_owners_.clear();
  }
  void start() {
    make();
    ASSERT_FALSE(*service_->start(plan_)) << "it needs a moment";
    while (auto answer = std::exchange(answer_, nullptr)) {
      answer();
    }
  }
  void write(int pid, double expires, int signal = SIGKILL) { pipe().on_bytes(request(pid, expires, signal)); }
  /// The last pipe: that of rank 5, or the one of all.
  PipeOwner& pipe() const { return *pipe_owners_.back(); }

  std::string folder_ = ::testing::TempDir() + "timer_XXXXXX";
  LaunchPlan plan_;
  ServiceInput input_;
  bool hangs_ = false;
  std::function<void()> answer_;
  std::vector<PipeOwner*> pipe_owners_;
  std::optional<double> asked_;  ///< seconds
  Signals asked_for_;            ///< pids and signals
  std::string said_;
  FakeOwner owner_;
  std::unique_ptr<Service> service_;
};

TEST_F(FileTimer, IsStartedWhereAVariableEnablesIt) {
  for (const std::string given : {"", "0", "true"}) {
    input_.variables = {{"TORCHELASTIC_ENABLE_FILE_TIMER", given}};
    make();
    const auto started = service_->start(plan_);
    ASSERT_TRUE(started && *started);
    EXPECT_TRUE((*started)->environment.empty());
  }
}

TEST_F(FileTimer, MakesAPipeForEachWorker) {
  start();
  EXPECT_TRUE(owner_.added.empty());
  for (std::size_t worker = 0; worker < 2; ++worker) {
    const std::string path = folder_ + "/watchdog_timer_" + std::to_string(worker);
    EXPECT_EQ(owner_.added_of[worker]["TORCHELASTIC_TIMER_FILE"], path);
    EXPECT_TRUE(fs::is_fifo(path));
  }
  service_->stop();
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(FileTimer, NeedsNoPipeWithoutWorkers) {
  plan_.workers.clear();
  make();
  const auto started = service_->start(plan_);
  EXPECT_TRUE(started && *started);
}

TEST_F(FileTimer, SignalsThroughTheirOwnPipeAlone) {
  start();
  write(60, 1);
  EXPECT_TRUE(asked_for_.empty()) << "rank 5 has set it, and it is of rank 4";
  EXPECT_FALSE(service_->explain_end(0, false));
  pipe_owners_.front()->on_bytes(request(60, 1));
  EXPECT_EQ(asked_for_, (Signals{{60, SIGKILL}}));
  EXPECT_TRUE(service_->explain_end(0, false));
}

TEST_F(FileTimer, SignalsAllThroughAGivenPipe) {
  input_.variables["TORCHELASTIC_TIMER_FILE"] = folder_ + "/mine";
  start();
  EXPECT_EQ(pipe_owners_.size(), 1U);
  write(60, 1);
  write(70, 1);
  EXPECT_EQ(asked_for_, (Signals{{60, SIGKILL}, {70, SIGKILL}}));
}

TEST_F(FileTimer, ReplacesAFileAtTheGivenPath) {
  input_.variables["TORCHELASTIC_TIMER_FILE"] = folder_ + "/mine";
  std::ofstream(folder_ + "/mine") << "old";
  start();
  EXPECT_EQ(owner_.added["TORCHELASTIC_TIMER_FILE"], folder_ + "/mine");
  EXPECT_TRUE(fs::is_fifo(folder_ + "/mine"));
}

TEST_F(FileTimer, TakesAnEmptyNameForNone) {
  input_.variables["TORCHELASTIC_TIMER_FILE"] = "";
  start();
  EXPECT_EQ(owner_.added_of[1]["TORCHELASTIC_TIMER_FILE"], folder_ + "/watchdog_timer_1");
}

TEST_F(FileTimer, LeavesThePipeOfAnotherLauncherAlone) {
  const std::string path = folder_ + "/theirs";
  input_.variables["TORCHELASTIC_TIMER_FILE"] = path;
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  UniqueFd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK));
  start();
  EXPECT_EQ(owner_.added_of[1]["TORCHELASTIC_TIMER_FILE"], folder_ + "/watchdog_timer_1");
  service_->stop();
  EXPECT_TRUE(fs::is_fifo(path));

  reader.reset();
  start();
  EXPECT_EQ(owner_.added["TORCHELASTIC_TIMER_FILE"], path) << "nobody reads it any more";
  reader = UniqueFd(::open(path.c_str(), O_RDONLY | O_NONBLOCK));
  service_->stop();
  EXPECT_TRUE(fs::is_fifo(path)) << "somebody does, who has put it there";
}

TEST_F(FileTimer, ReplacesNoDeviceAndNoFolder) {
  for (const std::string& given : {std::string("/dev/null"), folder_}) {
    input_.variables["TORCHELASTIC_TIMER_FILE"] = given;
    start();
    EXPECT_EQ(owner_.failures.back(), "cannot make the pipe '" + given + "': File exists");
  }
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(FileTimer, FailsWhereNoPipeCanBeMade) {
  input_.variables["TORCHELASTIC_TIMER_FILE"] = folder_ + "/none/mine";
  start();
  EXPECT_EQ(owner_.failures.back(), "cannot make the pipe '" + folder_ + "/none/mine': No such file or directory");
}

TEST_F(FileTimer, FailsWhereItsFileSystemHangs) {
  hangs_ = true;
  start();
  EXPECT_EQ(owner_.failures.back(),
            "cannot make the pipe '" + folder_ + "/watchdog_timer_0': its file system does not answer");
}

TEST_F(FileTimer, NeedsAFolder) {
  input_.run_folder = "";
  make();
  const auto started = service_->start(plan_);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message, "there is no folder for its pipe (TMPDIR names another place)");
}

TEST_F(FileTimer, HasThoseKilledWhoseTimeIsOver) {
  start();
  write(70, 1);
  EXPECT_EQ(asked_for_, (Signals{{70, SIGKILL}}));
  const std::string told = "the timer 'step' of process 70 has expired, sent it SIGKILL";
  EXPECT_EQ(said_, "muster: " + told + "\n");
  EXPECT_FALSE(service_->explain_end(0, false)) << "that is rank 4";
  EXPECT_FALSE(service_->explain_end(1, true));
  EXPECT_EQ(service_->explain_end(1, false)->message, told);
}

TEST_F(FileTimer, DoesNotSignalOtherProcessesOrTimersWithoutASignal) {
  start();
  write(99, 1);
  EXPECT_EQ(said_, "") << "it is no process of the job";
  write(70, 1, 0);
  EXPECT_EQ(asked_for_, (Signals{{99, SIGKILL}, {70, 0}}));
  EXPECT_EQ(said_, "muster: the timer 'step' of process 70 has expired, and the timer asks for no signal\n");
}

TEST_F(FileTimer, ReportsInvalidDataOnOneLine) {
  start();
  pipe().on_bytes(R"({"pid": 70, "scope_id": "a\nmuster: \u001b[2J)" + std::string(3'000, 'x') +
                  R"(", "expiration_time": 1, "signal": 9})"
                  "\n");
  EXPECT_EQ(std::count(said_.begin(), said_.end(), '\n'), 1) << said_;
  EXPECT_EQ(said_.find('\x1b'), std::string::npos) << said_;
  EXPECT_LT(said_.size(), 400U);
}

TEST_F(FileTimer, SignalsSomeAndThenLooksForWhatElseHappens) {
  start();
  std::string requests;
  for (int pid = 100; pid < 300; ++pid) {
    requests += request(pid, 1);
  }
  pipe().on_bytes(requests);
  EXPECT_EQ(asked_for_.size(), 64U);
  EXPECT_LT(*asked_, 0.01) << "the others follow at once";
  while (asked_) {
    pipe().on_time();
  }
  EXPECT_EQ(asked_for_.size(), 200U);
}

TEST_F(FileTimer, CausesNoWakeupsWithoutATimer) {
  start();
  EXPECT_FALSE(asked_);
  write(70, 1e12);
  ASSERT_TRUE(asked_);
  EXPECT_GT(*asked_, 1'000);
  EXPECT_LE(*asked_, 24 * 3600 + 1);
  write(70, -1, 0);
  EXPECT_FALSE(asked_);
}

TEST_F(FileTimer, SaysOnceThatALineIsNoRequest) {
  start();
  pipe().on_bytes("hello\n");
  pipe().on_bytes("hello\n");
  EXPECT_EQ(said_, "muster: ignoring a line in '" + folder_ +
                       "/watchdog_timer_1': expected a request for a timer, as torch's FileTimerClient "
                       "writes it\n");
}

}  // namespace
}  // namespace muster
