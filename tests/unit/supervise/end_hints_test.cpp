#include "supervise/end_hints.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

namespace muster {
namespace {

using Hints = std::vector<std::string>;

EndFacts ended_by(int signal) {
  EndFacts facts;
  facts.status = ExitStatus::signalled(signal);
  return facts;
}

TEST(EndHints, SaysNothingWhereThereIsNothingToAdd) {
  EXPECT_EQ(end_hints(EndFacts{}), Hints{});
  EXPECT_EQ(end_hints(ended_by(SIGSEGV)), Hints{});
}

TEST(EndHints, TheCounterOfTheMemoryGroupDecidesWhatWasOutOfMemory) {
  EndFacts facts = ended_by(SIGKILL);
  facts.oom_kills = OomKills{"/sys/fs/cgroup/job/memory.events", 2, 3};
  const std::string killed =
      "the kernel killed it because memory ran out: oom_kill in '/sys/fs/cgroup/job/memory.events' went from 2 to 3; ";
  EXPECT_EQ(end_hints(facts),
            Hints{killed + "no limit is visible here, so the machine or a group above this one had no memory left"});
  facts.oom_kills->limit = std::uint64_t{64} << 30U;
  EXPECT_EQ(end_hints(facts), Hints{killed + "the limit is 64.0 GiB; raise the limit, or use less memory"});
  facts.oom_kills->peak = std::uint64_t{512} << 20U;
  EXPECT_EQ(
      end_hints(facts),
      Hints{killed + "the limit is 64.0 GiB, and the most that was used 512 MiB; raise the limit, or use less memory"});
  facts.oom_kills->after = 2;
  EXPECT_EQ(end_hints(facts),
            Hints{"muster did not send this SIGKILL, and the kernel's OOM killer did not either: oom_kill "
                  "in '/sys/fs/cgroup/job/memory.events' is 2 as before"});
  facts.oom_kills->file = "/sys/fs/cgroup/memory/job/memory.oom_control";
  EXPECT_TRUE(end_hints(facts)[0].ends_with("is 2 as before, which counts no groups below it"));
}

TEST(EndHints, SaysThatAProcessOfARankWasKilledForWantOfMemory) {
  EndFacts facts;
  facts.status = ExitStatus::exited(1);
  facts.oom_kills = OomKills{"memory.events", 0, 1, std::uint64_t{1} << 30U};
  EXPECT_EQ(
      end_hints(facts),
      Hints{"the kernel killed a process here because memory ran out: oom_kill in 'memory.events' went from 0 to 1; "
            "the limit is 1.0 GiB; raise the limit, or use less memory"});
  facts.oom_kills->after = 0;
  EXPECT_EQ(end_hints(facts), Hints{});
}

TEST(EndHints, DoesNotGuessWhereTheCounterCannotBeRead) {
  const Hints hints = end_hints(ended_by(SIGKILL));
  ASSERT_EQ(hints.size(), 1U);
  EXPECT_NE(hints[0].find("the kernel does when memory runs out"), std::string::npos);
}

TEST(EndHints, CpuTimeThatIsUsedUpIsNoWantOfMemory) {
  EndFacts facts = ended_by(SIGKILL);
  facts.oom_kills = OomKills{"memory.events", 0, 0};
  facts.use.limits.hard_cpu_seconds = 2;
  facts.use.cpu_seconds = 1.96;
  EXPECT_EQ(end_hints(facts), Hints{"the kernel probably killed it: it had used 1.96 s of CPU time, which is all that "
                                    "its limit allows (RLIMIT_CPU, ulimit -t)"});
  facts.use.cpu_seconds = 1.2;
  EXPECT_NE(end_hints(facts)[0].find("is 0 as before"), std::string::npos);
}

TEST(EndHints, AKillLongBeforeTheLimitOfCpuTimeHasAnotherReason) {
  EndFacts facts = ended_by(SIGKILL);
  facts.oom_kills = OomKills{"memory.events", 0, 0};
  facts.use.limits.hard_cpu_seconds = 3'600;
  facts.use.cpu_seconds = 3'570;
  EXPECT_NE(end_hints(facts)[0].find("is 0 as before"), std::string::npos);
}

TEST(EndHints, NamesTheLimitBehindASignal) {
  EndFacts cpu = ended_by(SIGXCPU);
  cpu.use.cpu_seconds = 1.5;
  cpu.use.limits.soft_cpu_seconds = 1;
  EXPECT_EQ(end_hints(cpu),
            Hints{"it had used 1.50 s of CPU time, which is all that its limit allows (RLIMIT_CPU, ulimit -t)"});
  EndFacts file = ended_by(SIGXFSZ);
  file.use.limits.file_size = 1'024;
  EXPECT_EQ(end_hints(file), Hints{"a file that it wrote reached the limit of 1024 bytes (RLIMIT_FSIZE, ulimit -f)"});
  EXPECT_EQ(end_hints(ended_by(SIGXCPU)), Hints{}) << "somebody has sent it";
}

TEST(EndHints, NamesAFilterOfSystemCalls) {
  EXPECT_EQ(end_hints(ended_by(SIGSYS)),
            Hints{"a filter of system calls (seccomp) refused one: the sandbox or the container's "
                  "profile"});
}

TEST(EndHints, SaysWhereToLookAfterAFullDisk) {
  EndFacts facts;
  facts.status = ExitStatus::exited(1);
  facts.node = "node 0 (node-a)";
  facts.last_output = "OSError: [Errno 28] No space left on device";
  EXPECT_EQ(end_hints(facts), Hints{"its last lines mention a full disk: make room where it writes ('df -h' on node "
                                    "0 (node-a)), or let it write elsewhere"});
}

TEST(EndHints, NamesTheLimitOfMemoryToWhomeverSpeaksOfMemory) {
  EndFacts facts;
  facts.status = ExitStatus::exited(1);
  facts.last_output = "MemoryError";
  EXPECT_EQ(end_hints(facts), Hints{}) << "it has no limit";
  facts.use.limits.address_space = 4'096;
  EXPECT_EQ(end_hints(facts),
            Hints{"its last lines mention memory, and its limit is 4096 bytes (RLIMIT_AS, ulimit -v)"});
  facts.last_output = "ValueError";
  EXPECT_EQ(end_hints(facts), Hints{});
}

/// Has the last words of public reports about races.
TEST(EndHints, FindsTheFileOfACompilersCacheThatWasGone) {
  const std::string cache = "/home/me/.triton/cache/4XV7/k.json";
  for (const std::string& words :
       {"OSError: [Errno 116] Stale file handle: '" + cache + "'",
        "OSError: [Errno 16] Device or resource busy: '" + cache + "'",
        "FileNotFoundError: [Errno 2] No such file or directory: '" + cache + "' -> '/home/me/x'",
        "ImportError: " + cache + ": cannot stat shared object: Stale file handle"}) {
    EXPECT_EQ(find_cache_trouble("Traceback\n" + words), cache) << words;
  }
}

TEST(EndHints, FindsTheCodeOfACacheWhereNoFileIsNamed) {
  const std::string frame = "  File \"/venv/site-packages/triton/runtime/cache.py\", line 118, in put\n";
  EXPECT_EQ(find_cache_trouble(frame + "OSError: [Errno 116] Stale file handle"), "");
  EXPECT_EQ(find_cache_trouble(frame + "OSError: [Errno 16] Device or resource busy: '.nfs000000001'"), "");
  for (const std::string& words : {frame + "OSError: [Errno 2] No such file or directory: '/data/x'",
                                   frame + "OSError: [Errno 16] Device or resource busy: '/dev/x'",
                                   std::string("OSError: [Errno 116] Stale file handle: '/data/x'"),
                                   std::string("No such file or directory: './x/.triton/y'"), std::string()}) {
    EXPECT_EQ(find_cache_trouble(words), std::nullopt) << words;
  }
}

TEST(EndHints, SaysThatACacheIsOnTheNetwork) {
  EndFacts facts;
  facts.cache = NetworkCache{"/home/me/.triton", "nfs4"};
  ASSERT_EQ(end_hints(facts).size(), 1U);
  EXPECT_NE(end_hints(facts)[0].find("'/home/me/.triton' is on a network file system (nfs4)"), std::string::npos);
}

}  // namespace
}  // namespace muster
