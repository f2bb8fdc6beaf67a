// Bytes that reach the log files, with real pipes and files and no worker.
#include "output/worker_streams.hpp"

#include "run/run_fixture.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace muster {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// The streams of one node's workers, which go to files only.
class WorkerStreamsTest : public RunFixture {
 protected:
  WorkerStreamsTest() {
    std::string folder = fs::temp_directory_path() / "muster_streams_XXXXXX";
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    set("redirects", "3");
    plan_.chosen_lines = {folder_ / "attempt_0/filtered_stdout.log", folder_ / "attempt_0/filtered_stderr.log"};
  }

  ~WorkerStreamsTest() override { fs::remove_all(folder_); }

  void set(const std::string& name, const std::string& value) {
    auto& option = name == "redirects" ? selection_.redirects : selection_.local_ranks;
    option = Sourced<std::string>{value, from_flag("--" + name)};
    options_.selection = *Selection::read(selection_);
  }

  WorkerPlan& add_worker(const std::string& name) {
    WorkerPlan worker;
    const int rank = static_cast<int>(plan_.workers.size());
    worker.role = name;
    worker.global_rank = GlobalRank{rank};
    worker.local_rank = LocalRank{rank};
    const std::string path = folder_ / "attempt_0" / name;
    worker.log = {path + ".out", path + ".err"};
    plan_.workers.push_back(worker);
    plan_.world_size = rank + 1;
    return plan_.workers.back();
  }

  /// Adds a worker with one file for both of its streams.
  void add_joined(const std::string& name) {
    const std::string path = folder_ / "attempt_0" / (name + ".log");
    add_worker(name).log = {path, path};
  }

  void start() {
    streams_.emplace(io_, queues_, plan_, run_);
    bool are_open = streams_->open_files([&] { are_open = true; });
    wait_until("the files to be open", [&] { return are_open; });
    for (std::size_t worker = 0; worker < plan_.workers.size(); ++worker) {
      auto ends = make_output_ends(streams_->connection_of(worker));
      ASSERT_TRUE(ends);
      ASSERT_TRUE(streams_->connect(worker, std::move(ends->ours)));
      streams_->note_start(worker, 4711);
      StreamEnds& theirs = ends->workers;
      out_.push_back(theirs.out ? std::move(theirs.out) : UniqueFd(::dup(theirs.error.get())));
      err_.push_back(std::move(theirs.error));
    }
  }

  static void write_at_once(const UniqueFd& pipe, std::string_view text) {
    ASSERT_EQ(::write(pipe.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  /// Writes as a worker does, and waits until it has been read.
  void write(const UniqueFd& pipe, std::string_view text) {
    write_at_once(pipe, text);
    wait_until("the text to be read", [&] {
      int waiting = 0;
      (void)::ioctl(pipe.get(), FIONREAD, &waiting);
      return waiting == 0;
    });
  }

  void wait_until(const std::string& what, const std::function<bool()>& is_so) {
    const auto deadline = std::chrono::steady_clock::now() + 120s;  // a bound on a hang
    while (!is_so()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "waited for " << what;
      io_.run_for(10ms);
    }
  }

  void end() {
    out_.clear();
    err_.clear();
    wait_until("the streams to end", [this] {
      for (std::size_t worker = 0; worker < plan_.workers.size(); ++worker) {
        if (!streams_->has_ended(worker)) {
          return false;
        }
      }
      return true;
    });
    wait_until("everything to be written", [this] { return queues_.drain([] {}); });
  }

  std::string text(const std::string& name) const {
    std::ifstream file(folder_ / "attempt_0" / name);
    std::ostringstream content;
    content << file.rdbuf();
    return content.str();
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "attempt_0")) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  fs::path folder_;
  SelectionOptions selection_;
  LaunchPlan plan_;
  boost::asio::io_context io_;
  HelperProcesses helpers_{**GuardSharedMemory::make()};
  OutputQueues queues_{io_, helpers_, 5s};
  std::optional<WorkerStreams> streams_;
  std::vector<UniqueFd> out_;
  std::vector<UniqueFd> err_;
};

using Names = std::vector<std::string>;

// Last lines

TEST_F(WorkerStreamsTest, LastLinesAreThoseOfTheOutputAfterStandardErrorWasClosedUnused) {
  add_worker("as_after_2>&1");
  add_worker("wrote_an_error");
  add_worker("ended");
  start();

  write(out_[0], "early\n");
  write(err_[1], "ValueError: x\n");
  write(out_[2], "a line of the output\n");
  out_[2].reset();
  for (UniqueFd& error : err_) {
    error.reset();
  }
  wait_until("the third one to end", [this] { return streams_->has_ended(2); });
  io_.run_for(10ms);
  write(out_[0], "RuntimeError: y\n");
  write(out_[1], "a line of the output\n");

  EXPECT_EQ(streams_->last_lines(0), Names{"RuntimeError: y"});
  EXPECT_EQ(streams_->last_lines(1), Names{"ValueError: x"});
  EXPECT_EQ(streams_->last_lines(2), Names{});
  EXPECT_TRUE(streams_->keeps_lines_of_output(0));
  EXPECT_FALSE(streams_->keeps_lines_of_output(1) || streams_->keeps_lines_of_output(2));
  end();
}

// One file for both streams

TEST_F(WorkerStreamsTest, JoinedStreamsAreOneFile) {
  add_joined("scheduler");
  add_worker("worker_0");
  start();

  write(out_[0], "one\n");
  write(err_[0], "two\n");
  write(out_[0], "three\n");
  end();

  EXPECT_EQ(names(), (Names{"scheduler.log", "worker_0.err", "worker_0.out"}));
  EXPECT_EQ(text("scheduler.log"), "one\ntwo\nthree\n") << "in the order in which they were read";
}

TEST_F(WorkerStreamsTest, LinesOfAJoinedFileStayWholeWithSeparateStreams) {
  options_.duplicate_out = *LineFilter::read({"loss", from_flag("--duplicate-stdout-filters")});
  add_joined("worker_0");
  start();

  write(out_[0], "half a ");
  write(err_[0], "an error\nand half ");
  write(out_[0], "line\n");
  write(err_[0], "of one\n");
  end();

  EXPECT_EQ(text("worker_0.log"), "an error\nhalf a line\nand half of one\n");
}

TEST_F(WorkerStreamsTest, AJoinedFileKeepsTheOrderOfWrites) {
  add_joined("worker_0");
  start();

  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    const std::string line = std::to_string(i) + "\n";
    write_at_once(i % 2 == 0 ? out_[0] : err_[0], line);
    expected += line;
  }
  end();

  EXPECT_EQ(text("worker_0.log"), expected);
}

TEST_F(WorkerStreamsTest, LastLinesOfAJoinedFileGetNewlinesWithSeparateStreams) {
  options_.duplicate_out = *LineFilter::read({"loss", from_flag("--duplicate-stdout-filters")});
  add_joined("worker_0");
  start();

  write(out_[0], "no end");
  write(err_[0], "none either");
  end();

  const std::string both = text("worker_0.log");
  EXPECT_TRUE(both == "no end\nnone either\n" || both == "none either\nno end\n") << both;
}

TEST_F(WorkerStreamsTest, AJoinedFileKeepsBinaryBytesAndCarriageReturns) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) {
    bytes += static_cast<char>(byte);
  }
  add_joined("worker_0");
  start();

  write(out_[0], bytes + "\n" + bytes + "\r\n");
  end();

  EXPECT_EQ(text("worker_0.log"), bytes + "\n" + bytes + "\r\n");
}

TEST_F(WorkerStreamsTest, ProgressBarStepsReachAJoinedFileBeforeTheBarEnds) {
  add_joined("worker_0");
  start();

  write(err_[0], "10%\r20%\r30%");
  wait_until("the steps to be written", [this] { return !text("worker_0.log").empty(); });

  EXPECT_EQ(text("worker_0.log"), "10%\r20%\n");
  end();
  EXPECT_EQ(text("worker_0.log"), "10%\r20%\n\r30%\n");
}

TEST_F(WorkerStreamsTest, OnlyTheChosenStreamIsInAJoinedFile) {
  set("redirects", "2");
  add_joined("worker_0");
  start();

  write(err_[0], "an error\n");
  end();

  EXPECT_EQ(names(), Names{"worker_0.log"});
  EXPECT_EQ(text("worker_0.log"), "an error\n");
}

TEST_F(WorkerStreamsTest, NoJoinedFileIsMadeWhenNothingGoesToFiles) {
  set("redirects", "1:3");
  add_joined("scheduler");
  add_joined("worker_0");
  start();
  end();

  EXPECT_EQ(names(), Names{"worker_0.log"});
}

TEST_F(WorkerStreamsTest, BytesMissingInAJoinedFileAreReportedOnce) {
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 4;
  add_joined("worker_0");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  start();  // who writes has the limit from here
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);

  write(out_[0], "123\n567\n");
  write(err_[0], "90\n");
  end();
  (void)::signal(SIGXFSZ, handler);

  EXPECT_EQ(queues_.describe_losses(),
            Names{"'" + plan_.workers[0].log.out + "' lacks 7 bytes that could not be written"});
}

// Terminals of the workers

TEST_F(WorkerStreamsTest, ATerminalIsReadToItsEnd) {
  options_.terminals = When::Always;
  add_worker("worker_0");
  start();
  ASSERT_EQ(::isatty(out_[0].get()), 1);
  std::string bytes(100'000, 'x');
  bytes += "\n\r\t\x04\x03 end";

  std::string_view left = bytes;
  ASSERT_EQ(::fcntl(out_[0].get(), F_SETFL, O_NONBLOCK), 0);
  wait_until("all of it to be taken", [&] {
    const ssize_t taken = ::write(out_[0].get(), left.data(), left.size());
    left.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(taken, 0)));
    return left.empty();
  });
  end();

  EXPECT_EQ(text("worker_0.out"), bytes);
}

TEST_F(WorkerStreamsTest, ATerminalKeptOpenFromOutsideEndsWithTheLastProcess) {
  options_.terminals = When::Always;
  add_worker("worker_0");
  start();
  write_at_once(out_[0], "the last words");

  streams_->finish();

  wait_until("everything to be written", [this] { return queues_.drain([] {}); });
  EXPECT_EQ(text("worker_0.out"), "the last words");
  EXPECT_TRUE(streams_->has_ended(0));
}

// Lines that are written a second time

TEST_F(WorkerStreamsTest, ChosenLinesOfAllWorkersAreInOneFileWithTheirPrefix) {
  options_.duplicate_out = *LineFilter::read({"loss", from_flag("--duplicate-stdout-filters")});
  add_worker("worker_0");
  add_worker("worker_1");
  start();

  write(out_[0], "step 1\nloss 3\nlo");
  write(out_[1], "loss 4\n");
  write(out_[0], "ss 2\n");
  write(err_[0], "loss of an error\n");
  end();

  EXPECT_EQ(text("filtered_stdout.log"), "[0] loss 3\n[1] loss 4\n[0] loss 2\n");
  EXPECT_EQ(text("worker_0.out"), "step 1\nloss 3\nloss 2\n");
  EXPECT_FALSE(fs::exists(folder_ / "attempt_0/filtered_stderr.log"));
}

TEST_F(WorkerStreamsTest, ChosenLinesOfStandardErrorHaveAFileOfTheirOwn) {
  options_.duplicate_err = *LineFilter::read({"loss", from_flag("--duplicate-stderr-filters")});
  set("redirects", "0");
  set("local-ranks-filter", "1");
  add_worker("worker_0");
  start();

  write(out_[0], "loss\n");
  write(err_[0], "gloss\nno end of loss");
  end();

  EXPECT_EQ(names(), Names{"filtered_stderr.log"});
  EXPECT_EQ(text("filtered_stderr.log"), "gloss\nno end of loss\n") << "one worker has no prefix";
}

TEST_F(WorkerStreamsTest, ChosenLinesOfSeveralNodesSayOfWhichTheyAre) {
  options_.duplicate_out = *LineFilter::read({"loss", from_flag("--duplicate-stdout-filters")});
  plan_.placement.nodes = 2;
  plan_.placement.node_rank = NodeRank{1};
  add_worker("worker_0");
  add_worker("scheduler").label = "scheduler";
  start();

  write(out_[0], "loss\n");
  write(out_[1], "loss\n");
  end();

  EXPECT_EQ(text("filtered_stdout.log"), "[1:0] loss\n[1:scheduler] loss\n");
}

TEST_F(WorkerStreamsTest, OutputOfRanksIsNotReportedAsMpiruns) {
  options_.duplicate_out = *LineFilter::read({"loss", from_flag("--duplicate-stdout-filters")});
  plan_.placement.nodes = 2;
  for (const char* const label : {"mpirun", "daemon"}) {
    WorkerPlan& worker = add_worker(label);
    worker.label = label;
    worker.is_unranked = true;
    worker.decides_success = worker.label == "mpirun";
  }
  start();

  write(out_[0], "loss\n");
  write(out_[1], "loss\n");
  end();

  EXPECT_EQ(text("filtered_stdout.log"), "loss\n[0:daemon] loss\n");
}

TEST_F(WorkerStreamsTest, APrefixOfOnesOwnIsFilledOnceThePidIsKnown) {
  options_.duplicate_out = *LineFilter::read({"loss", from_flag("--duplicate-stdout-filters")});
  options_.prefix_template =
      *PrefixTemplate::read({"<${role_name} ${role} ${role_rank} ${local_rank} ${rank} ${global_rank} ${node_rank} "
                             "${attempt} ${hostname} ${pid}>",
                             from_flag("--prefix-template")});
  options_.host_name = "gpu-17";
  plan_.placement.attempt = 3;
  add_worker("scheduler");
  add_worker("ps").environment["ROLE_NAME"] = "default";
  plan_.workers[1].role_rank = 8;
  plan_.workers[1].global_rank = GlobalRank{9};
  start();

  write(out_[0], "loss\n");
  write(out_[1], "loss\n");
  end();

  EXPECT_EQ(text("filtered_stdout.log"),
            "<scheduler scheduler 0 0 0 0 0 3 gpu-17 4711>loss\n"
            "<default ps 8 1 9 9 0 3 gpu-17 4711>loss\n");
}

TEST_F(WorkerStreamsTest, AFilteredFileHasNoPrefixWhereTheConsoleHasNone) {
  options_.duplicate_out = *LineFilter::read({"loss", from_flag("--duplicate-stdout-filters")});
  options_.prefix = PrefixWhen::Never;
  options_.prefix_template = *PrefixTemplate::read({"${pid}: ", from_flag("--prefix-template")});
  add_worker("worker_0");
  add_worker("worker_1");
  start();

  write(out_[0], "loss\n");
  end();

  EXPECT_EQ(text("filtered_stdout.log"), "loss\n");
}

}  // namespace
}  // namespace muster
