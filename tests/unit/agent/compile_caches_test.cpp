// When new entries of compilers' caches are kept.
#include "agent/compile_caches.hpp"

#include "run/run_fixture.hpp"

#include <gtest/gtest.h>

#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace muster {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

/// A node with a folder and a store.
class CompileCachesTest : public RunFixture {
 protected:
  CompileCachesTest() {
    top_ = ::mkdtemp(top_.data());
    (void)::mkdir((top_ + "/folder").c_str(), 0700);
    options_.caches.folder = top_ + "/folder";
    options_.caches.store = Sourced<std::string>{top_ + "/store", {}};
    caches_.record = [](const ledger::Event& /*event*/) {};
  }
  ~CompileCachesTest() override { fs::remove_all(top_); }

  void compile(const std::string& name, std::chrono::seconds ago = 1min) const {
    const fs::path path = fs::path(options_.caches.folder) / "inductor" / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "compiled";
    fs::last_write_time(path, fs::file_time_type::clock::now() - ago);
  }

  static LaunchPlan plan_of(int node) {
    LaunchPlan plan;
    plan.placement.node_rank = NodeRank{node};
    return plan;
  }

  std::size_t packs() const {
    std::size_t count = 0;
    std::error_code failed;
    for (fs::directory_iterator entry(top_ + "/store", failed), end; !failed && entry != end; ++entry) {
      count += entry->path().extension() == ".pack" ? 1 : 0;
    }
    return count;
  }

  /// Runs the loop until the store has so many packs; false: it has not.
  bool waits_for(std::size_t count) {
    const auto deadline = std::chrono::steady_clock::now() + 120s;  // packs are written when CPUs are idle
    while (packs() < count && std::chrono::steady_clock::now() < deadline) {
      io_.restart();
      io_.run_one_for(10ms);
    }
    return packs() == count;
  }

  /// Runs the loop until nothing is to be kept.
  void end() {
    bool is_over = false;
    caches_.end(120s, [&] { is_over = true; });
    while (!is_over) {
      io_.restart();
      io_.run_one_for(1s);
    }
  }

  std::string top_ = ::testing::TempDir() + "caches_XXXXXX";
  boost::asio::io_context io_;
  HelperProcesses helpers_{**GuardSharedMemory::make()};
  CompileCaches caches_{io_, helpers_, run_};
};

TEST_F(CompileCachesTest, KeepsFromTimeToTime) {
  EXPECT_EQ(caches_.keep_interval, 10min);
  caches_.keep_interval = 50ms;
  caches_.begin_attempt(plan_of(0));
  for (std::size_t count = 1; count <= 2; ++count) {
    compile(std::to_string(count) + ".py");
    EXPECT_TRUE(waits_for(count));
  }
  end();
  EXPECT_EQ(packs(), 2U);
}

TEST_F(CompileCachesTest, KeepsAtANoticeAndAtTheEnd) {
  caches_.begin_attempt(plan_of(0));
  compile("before.py");
  caches_.on_notice();
  EXPECT_TRUE(waits_for(1));
  compile("after.py");
  caches_.end_attempt(/*has_succeeded=*/true);
  end();
  EXPECT_EQ(packs(), 2U);
}

TEST_F(CompileCachesTest, KeepsNothingThatAFailedAttemptMayNotHaveFinished) {
  caches_.begin_attempt(plan_of(0));
  compile("half.py", 0s);
  caches_.end_attempt(/*has_succeeded=*/false);
  end();
  EXPECT_EQ(packs(), 0U);
}

TEST_F(CompileCachesTest, KeepsNothingOnAnotherNode) {
  compile("one.py");
  caches_.keep_interval = 1ms;
  caches_.begin_attempt(plan_of(1));
  caches_.on_notice();
  caches_.end_attempt(/*has_succeeded=*/true);
  end();
  EXPECT_EQ(packs(), 0U);
}

TEST_F(CompileCachesTest, GivesUpAStoreThatTakesNoFile) {
  std::ofstream(top_ + "/store") << "a file";
  compile("one.py");
  caches_.begin_attempt(plan_of(0));
  caches_.end_attempt(/*has_succeeded=*/true);
  end();
  EXPECT_EQ(fs::file_size(top_ + "/store"), 6U);
}

}  // namespace
}  // namespace muster
