#include "hang/verdict.hpp"

#include "base/ranks.hpp"
#include "base/text.hpp"
#include "hang/movement.hpp"
#include "hang/occupation.hpp"
#include "hang/stall_detector.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster::hang {
namespace {

const Frame kCollective{"/opt/venv/lib/python3.13/site-packages/torch/distributed/distributed_c10d.py", "all_reduce",
                        3000};
const Frame kWrapper{"/opt/venv/lib/python3.13/site-packages/torch/distributed/c10d_logger.py", "wrapper", 81};
const Frame kTrain{"/home/me/train.py", "main", 240};
const Frame kLoad{"/home/me/train.py", "load_shard", 212};

Place in_collective() {
  return {.end = {}, .state = 'S', .wait = "futex_wait", .stack = {kCollective, kWrapper, kTrain}, .no_stack = {}};
}
Place loading() {
  return {.end = {}, .state = 'S', .wait = "nfs_wait", .stack = {kLoad, kTrain}, .no_stack = {}};
}
Place ended(std::string how) {
  return {.end = std::move(how), .state = '?', .wait = {}, .stack = {}, .no_stack = {}};
}
Place with_state(char state) {
  Place place = in_collective();
  place.state = state;
  return place;
}

Place at(const char* function, const char* wait) {
  return {.end = {}, .state = 'S', .wait = wait, .stack = {Frame{"/home/me/train.py", function, 3}}, .no_stack = {}};
}

Place without_stack() {
  Place place = in_collective();
  place.stack.clear();
  place.no_stack = "py-spy: not found";
  return place;
}

/// `usual` for all ranks but those given.
std::vector<RankEvidence> job_of(int size, const Place& usual, const std::map<int, Place>& others = {}) {
  std::vector<RankEvidence> job;
  for (int rank = 0; rank < size; ++rank) {
    const auto other = others.find(rank);
    job.push_back(
        {rank, "gpu-" + std::to_string(rank / 4), 4'700 + rank, other == others.end() ? usual : other->second});
  }
  return job;
}

/// Two looks at a job that is quiet.
std::vector<RankEvidence> moved(const std::vector<RankEvidence>& before, const std::vector<RankEvidence>& now,
                                double seconds = 30) {
  Evidence second{now, seconds};
  mark_moving(second, {before, 0}, seconds);
  return second.ranks;
}

std::string lines_of(const std::vector<RankEvidence>& job) {
  return join(describe(judge(job), {job, 0}, static_cast<int>(job.size())), "\n");
}

TEST(Verdict, NamesTheRankThatIsInNoCollectiveWhileTheOthersAre) {
  EXPECT_EQ(lines_of(job_of(16, in_collective(), {{9, loading()}})),
            "15 of 16 ranks wait in all_reduce for rank 9\n"
            "rank 9 (gpu-2, pid 4709) is at train.py:212 in load_shard\n"
            "15 ranks are alike: torch/distributed/distributed_c10d.py:3000 in all_reduce, called "
            "from train.py:240 in main");
}

TEST(Verdict, NamesTheRankOfTwoThatDoesNotWait) {
  EXPECT_EQ(judge(job_of(2, in_collective(), {{0, loading()}})).ranks, std::vector{0});
}

TEST(Verdict, NamesTheRankThatTheKernelDoesNotRunThoughItIsInTheCollective) {
  EXPECT_EQ(judge(job_of(8, in_collective(), {{3, with_state('T')}})).ranks, std::vector{3});
  EXPECT_EQ(judge(job_of(8, in_collective(), {{3, with_state('D')}})).ranks, std::vector{3});
}

TEST(Verdict, NamesTheRankThatIsInAnotherCollective) {
  Place broadcast = in_collective();
  broadcast.stack[0].function = "broadcast";
  EXPECT_EQ(judge(job_of(8, in_collective(), {{5, broadcast}})).ranks, std::vector{5});

  Place elsewhere = in_collective();
  elsewhere.stack[2].line = 300;
  EXPECT_EQ(judge(job_of(8, in_collective(), {{5, elsewhere}})).ranks, std::vector{5}) << "called from another line";
}

TEST(Verdict, NamesThePublicFunctionOfAWait) {
  Place starting = in_collective();
  starting.stack[0].function = "_new_process_group_helper";
  EXPECT_EQ(awaited_operation(starting.stack), "_new_process_group_helper");
  starting.stack.insert(starting.stack.begin() + 1, Frame{kCollective.file, "init_process_group", 1});
  EXPECT_EQ(awaited_operation(starting.stack), "init_process_group");
}

TEST(Verdict, TakesNoImportForAWait) {
  const std::string c10d = "/usr/lib/python3/site-packages/torch/distributed/distributed_c10d.py";
  RankEvidence importing;
  importing.place.stack = {{c10d, "Backend", 200}, {c10d, "<module>", 150}, kTrain};

  EXPECT_EQ(awaited_operation(importing.place.stack), "");
}

/// A job of 16, in which two ranks have not come to the collective 84925; one of these is in state D.
std::vector<RankEvidence> job_with_progress() {
  auto job = job_of(16, in_collective(), {{9, loading()}, {3, with_state('D')}});
  for (RankEvidence& one : job) {
    const bool is_absent = one.rank == 9 || one.rank == 14;
    one.groups = {{"7", "dp", {0}, is_absent ? 84'924 : 84'925, 84'924, is_absent ? "" : "all_gather"}};
  }
  return job;
}

TEST(Verdict, NamesTheRanksThatHaveNotComeToACollective) {
  const auto job = job_with_progress();
  EXPECT_TRUE(lines_of(job).starts_with(
      "14 of 16 ranks wait in all_gather 84925 of group 'dp' for ranks 9, 14\n"
      "rank 9 (gpu-2, pid 4709) last entered collective 84924; it is at train.py:212 in load_shard\n"))
      << lines_of(job);
}

TEST(Verdict, NamesARankWhoseRecorderTellsNothingUnlessItsStackWaits) {
  auto job = job_of(4, without_stack());
  for (RankEvidence& one : job) {
    one.groups = {{"7", "dp", {0, 1, 2, 3}, 5, 4, "all_gather"}};
  }
  job[2].groups.clear();
  EXPECT_EQ(judge(job).finding, Finding::Named);
  EXPECT_TRUE(
      lines_of(job).starts_with("3 of 4 ranks wait in all_gather 5 of group 'dp' for rank 2\n"
                                "rank 2 (gpu-0, pid 4702) is in state S in futex_wait\n"))
      << lines_of(job);
  job[2].is_moving = true;
  EXPECT_EQ(judge(job).finding, Finding::WaitedFor);
  job[2] = job_of(3, in_collective()).back();
  EXPECT_EQ(judge(job).finding, Finding::Still) << "its answer may be late";
}

TEST(Verdict, AccusesNobodyWhoHasEnteredACollectiveMeanwhile) {
  const auto before = job_with_progress();
  auto now = before;
  now[9].groups[0].enqueued = 84'925;
  now = moved(before, now);
  EXPECT_TRUE(now[9].is_moving);
  EXPECT_FALSE(now[14].is_moving);
}

TEST(Verdict, GivesTheRanksTheProgressThatWasSent) {
  const auto job = job_with_progress();
  Evidence sent{job, 60};
  for (RankEvidence& rank : sent.ranks) {
    sent.progress.push_back({rank.rank, std::exchange(rank.groups, {})});
  }
  const std::string line = to_line(sent, 100'000);
  const auto joined = join_lines({line}).ranks;
  ASSERT_EQ(joined.size(), job.size());
  for (std::size_t i = 0; i < job.size(); ++i) {
    EXPECT_EQ(joined[i].groups, job[i].groups);
  }
  const auto cut = join_lines({to_line(sent, 200)}).ranks;
  EXPECT_TRUE(cut[0].groups.empty()) << "it takes at most half of the line";
  EXPECT_EQ(cut.size(), job.size());

  sent.ranks.resize(1);
  sent.progress = {{0, {{"nccl 0x1", "", {}, 7, -1, ""}}}};
  EXPECT_EQ(join_lines({to_line(sent, 100'000)}).ranks[0].groups.size(), 1U);
  EXPECT_EQ(join_lines({to_line(sent, 100'000), line}).ranks[0].groups, job[0].groups) << "the recorders know more";
}

TEST(Verdict, NamesTheRankThatEndedOrTheOnesThatDidNot) {
  EXPECT_EQ(judge(job_of(16, in_collective(), {{4, ended("exit code 0")}})).ranks, std::vector{4});
  const auto left = job_of(16, ended("exit code 0"), {{4, loading()}});
  EXPECT_EQ(judge(left).ranks, std::vector{4});
  EXPECT_TRUE(lines_of(left).starts_with("15 of 16 ranks have ended, and not rank 4\nrank 4 (gpu-1, pid 4704) is at "));
}

TEST(Verdict, AccusesNobodyWhereNobodyIsKnownToWaitForRanks) {
  EXPECT_EQ(judge(job_of(8, loading(), {{6, at("wait", "sk_wait_data")}})).finding, Finding::Idle);
  EXPECT_EQ(judge(job_of(8, with_state('T'))).finding, Finding::Still);
  EXPECT_EQ(judge(job_of(8, at("serve", "futex_wait"), {{6, at("sleep", "hrtimer_nanosleep")}})).finding,
            Finding::Idle);
}

TEST(Verdict, AccusesNobodyByTheKernelAlone) {
  Place sleeping = without_stack();
  sleeping.wait = "hrtimer_nanosleep";
  Place running = without_stack();
  running.state = 'R';
  for (const Place& other : {sleeping, running}) {
    EXPECT_EQ(judge(job_of(8, without_stack(), {{6, other}})).finding, Finding::Unknown);
  }
}

TEST(Verdict, AccusesNoRankWhoseStackCouldNotBeRead) {
  Place unknown = in_collective();
  unknown.stack.clear();
  EXPECT_EQ(judge(job_of(16, in_collective(), {{0, loading()}, {8, unknown}, {9, unknown}})).ranks, std::vector{0});
  EXPECT_EQ(judge(job_of(16, loading(), {{8, unknown}, {9, unknown}})).finding, Finding::Unknown);
  EXPECT_EQ(judge(job_of(4, unknown, {{0, loading()}, {1, in_collective()}})).finding, Finding::Unknown)
      << "too few are known to wait";
}

TEST(Verdict, AccusesNobodyWhereAllAreAlike) {
  EXPECT_EQ(judge(job_of(8, in_collective())).finding, Finding::Still);
  EXPECT_EQ(judge(job_of(1, at("lock", "futex_wait_queue"))).finding, Finding::Idle);
  EXPECT_EQ(judge(job_of(1, loading())).finding, Finding::Idle) << "what it waits for may come";
  EXPECT_EQ(lines_of(job_of(4, loading())), "all ranks are at train.py:212 in load_shard");
}

TEST(Verdict, AccusesNobodyWhereNoPlaceHasMostRanks) {
  Place third = in_collective();
  third.stack[0].function = "third";
  const auto job = job_of(4, in_collective(), {{0, third}, {1, third}});
  EXPECT_EQ(judge(job).finding, Finding::Still);
  EXPECT_EQ(lines_of(job), "its ranks wait for others, at 2 different places");
}

TEST(Verdict, AccusesNobodyWhileCollectivesGoThrough) {
  const auto before = job_of(8, in_collective(), {{2, loading()}});
  auto now = before;
  now[5].counters.switches = 3;
  now = moved(before, now);
  EXPECT_EQ(judge(now).finding, Finding::Moving) << "a slow rank is no hang";
}

TEST(Verdict, TakesPollsOfAWaitForNoCollectives) {
  Place polling = in_collective();
  polling.wait = "hrtimer_nanosleep";
  Place joining = in_collective();
  joining.stack.front() = {"/x/site-packages/torch/distributed/distributed_c10d.py", "init_process_group", 1'000};
  for (const Place& waiting : {polling, joining}) {
    const auto before = job_of(8, waiting, {{2, loading()}});
    auto now = before;
    now[5].counters.switches = 3;
    now = moved(before, now);
    EXPECT_EQ(judge(now).ranks, std::vector{2});
    EXPECT_EQ(judge(now).finding, Finding::Named);
  }
}

TEST(Verdict, BlamesARankThatHasEndedOnlyIfOthersWaitForRanks) {
  auto job = job_of(5, loading(), {{3, ended("exit code 0")}});
  EXPECT_EQ(judge(job).finding, Finding::Unclear);
  job[1].is_moving = true;
  EXPECT_EQ(judge(job).finding, Finding::Moving);
  job[0].place = in_collective();
  EXPECT_EQ(judge(job).finding, Finding::WaitedFor);
  EXPECT_EQ(judge(job).ranks, std::vector{1}) << "it still works";
}

TEST(Verdict, BlamesWhoStandsStillAndNotWhoHasDoneItsPart) {
  Place child = loading();
  child.stack.insert(child.stack.begin(), Frame{"/usr/lib/python3.13/subprocess.py", "Popen._wait", 2'000});
  const auto job = [&](const Place& place) {
    return judge(job_of(4, in_collective(), {{0, place}, {3, ended("exit code 0")}}));
  };
  EXPECT_EQ(job(child).finding, Finding::Idle);
  EXPECT_EQ(job(loading()).finding, Finding::Named);
  EXPECT_EQ(job(loading()).ranks, std::vector{0});
  EXPECT_EQ(job(in_collective()).ranks, std::vector{3});

  const auto most = job_of(8, ended("exit code 0"), {{0, in_collective()}, {4, in_collective()}, {5, loading()}});
  EXPECT_EQ(judge(most).ranks, std::vector{5}) << "0 and 4 wait for it";
}

TEST(Verdict, AccusesNobodyWhoWorksOrCompilesOrImports) {
  auto moving = job_of(8, in_collective(), {{2, loading()}});
  moving[2].is_moving = true;
  moving[2].cpu_share = 0.98;
  EXPECT_EQ(judge(moving).finding, Finding::WaitedFor);
  EXPECT_EQ(describe_work(judge(moving), moving),
            "the job waits for rank 2, which works: 98 % of a CPU, at train.py:212 in load_shard");
  EXPECT_TRUE(lines_of(moving).starts_with("7 of 8 ranks wait in all_reduce for rank 2, which works\n"));
  moving[2].is_looping = true;
  EXPECT_EQ(judge(moving).finding, Finding::Named);

  for (const char* const file : {"/x/site-packages/torch/_inductor/codecache.py", "<frozen importlib._bootstrap>"}) {
    Place busy = loading();
    busy.stack.insert(busy.stack.begin(), Frame{file, "load", 1});
    EXPECT_EQ(judge(job_of(8, in_collective(), {{2, busy}})).finding, Finding::WaitedFor) << file;
  }
  Place running = loading();
  running.state = 'R';
  EXPECT_EQ(judge(job_of(8, in_collective(), {{2, running}})).finding, Finding::WaitedFor) << "of one look";
}

TEST(Verdict, AccusesNobodyWhoWaitsForARequestAChildOrInput) {
  Place serving = loading();
  serving.stack.insert(serving.stack.begin(), Frame{"/usr/lib/python3.13/asyncio/base_events.py", "_run_once", 683});
  Place child = loading();
  child.stack.insert(child.stack.begin(), Frame{"/usr/lib/python3.13/subprocess.py", "Popen._wait", 2'000});
  Place pool = loading();
  pool.stack.insert(pool.stack.begin(), {Frame{"/usr/lib/python3.13/threading.py", "Event.wait", 655},
                                         Frame{"/usr/lib/python3.13/multiprocessing/pool.py", "Pool.map", 367}});
  for (const Place& idle :
       {serving, child, pool, at("main", "pipe_read (standard input)"), at("main", "pipe_read (pipe)"),
        at("main", "ep_poll"), at("main", "do_wait"), at("main", "n_tty_read"), at("main", "do_sigtimedwait")}) {
    const auto job = job_of(8, in_collective(), {{2, idle}});
    EXPECT_EQ(judge(job).finding, Finding::Idle) << idle.wait;
    EXPECT_TRUE(lines_of(job).starts_with("7 of 8 ranks wait in all_reduce for rank 2, idle\n")) << lines_of(job);
  }
  Place training = loading();
  training.stack.push_back(serving.stack.front());
  EXPECT_EQ(judge(job_of(8, in_collective(), {{2, training}})).ranks, std::vector{2}) << "it trains below such a loop";
  EXPECT_EQ(judge(job_of(8, in_collective(), {{2, training}})).finding, Finding::Named);
}

TEST(Verdict, NamesWhoSleepsWaitsForAFileLockOrForItsLoader) {
  Place lock = at("load", "hrtimer_nanosleep");
  lock.stack.insert(lock.stack.begin(), Frame{"/x/site-packages/torch/utils/file_baton.py", "FileBaton.wait", 49});
  lock.stack.push_back(Frame{"/x/site-packages/torch/utils/cpp_extension.py", "load", 1});
  Place loader = at("train", "do_sys_poll");
  loader.stack.insert(loader.stack.begin(), Frame{"/x/site-packages/torch/utils/data/dataloader.py", "_get_data", 1});
  loader.stack.insert(loader.stack.begin(), Frame{"/usr/lib/python3.13/selectors.py", "select", 398});
  for (const Place& place : {lock, loader, at("main", "hrtimer_nanosleep"), at("main", "sk_wait_data")}) {
    const Verdict verdict = judge(job_of(8, in_collective(), {{2, place}}));
    EXPECT_EQ(verdict.finding, Finding::Named) << place.wait;
    EXPECT_EQ(verdict.ranks, std::vector{2});
  }
}

TEST(Verdict, AccusesNobodyWhoMeetsTheOthers) {
  Place meeting = in_collective();
  meeting.stack[0].function = "init_process_group";
  Place later = meeting;
  later.stack.insert(later.stack.begin(), Frame{kCollective.file, "_new_process_group_helper", 2'169});
  auto job = job_of(8, meeting, {{2, later}});
  EXPECT_EQ(judge(job).finding, Finding::Still);
  EXPECT_EQ(judge(job).ranks, std::vector<int>());
  auto now = job;
  now[2].counters.cpu_ms = 3'000;
  EXPECT_EQ(judge(moved(job, now)).finding, Finding::Moving) << "it sets up its groups";
}

TEST(Verdict, NamesWhoStandsStillInAModuleOrACompiledFunction) {
  Place importing = loading();
  importing.stack.insert(importing.stack.begin() + 1, Frame{"<frozen importlib._bootstrap>", "_find_and_load", 1});
  Place compiled = loading();
  compiled.stack.insert(compiled.stack.begin() + 1,
                        Frame{"/x/site-packages/torch/_dynamo/eval_frame.py", "_fn", 1'000});
  Place folder = loading();
  folder.stack[0].file = "/home/me/triton/train.py";
  for (const Place& place : {importing, compiled, folder}) {
    EXPECT_EQ(judge(job_of(8, in_collective(), {{2, place}})).finding, Finding::Named) << place.stack[1].file;
  }
}

TEST(Verdict, KnowsTheWaitsOfDistributedDataParallel) {
  Place setup = in_collective();
  setup.stack[0] = {"/x/site-packages/torch/distributed/utils.py", "_verify_param_shape_across_processes", 300};
  EXPECT_EQ(awaited_operation(setup.stack), "DistributedDataParallel");
  setup.stack[0] = {"/x/site-packages/torch/nn/parallel/distributed.py", "_distributed_broadcast_coalesced", 300};
  EXPECT_EQ(awaited_operation(setup.stack), "DistributedDataParallel");
}

TEST(Verdict, KnowsWaitsOfCxxByTheirSource) {
  const auto wait = [](const char* line, const char* kernel) {
    const auto frame = find_builtin_wait(line, kernel);
    return frame ? frame->function + ": " + awaited_operation({*frame, kTrain}) : "";
  };
  EXPECT_EQ(wait("    work.wait()", "futex_wait_queue"), "work.wait: work.wait");
  EXPECT_EQ(wait("dist.all_reduce(x, async_op=True).wait()", "futex_wait_queue"), "wait: wait");
  EXPECT_EQ(wait("value = self.store.get(key)", "wait_woken"), "self.store.get: self.store.get");
  EXPECT_EQ(wait("store.wait(['x'])", "do_sys_poll"), "store.wait: store.wait");
  EXPECT_EQ(wait("work.wait()", "hrtimer_nanosleep"), "") << "it may poll for anything";
  EXPECT_EQ(wait("os.wait()", "do_wait"), "");
  EXPECT_EQ(wait("x = queue.get(timeout=3)", "futex_wait_queue"), "");
  EXPECT_EQ(wait("lock.acquire()", "futex_wait_queue"), "");
  EXPECT_EQ(wait("", "futex_wait_queue"), "");
}

TEST(Verdict, LooksAtTheThreadThatTrains) {
  const Stack serving{{"/usr/lib/python3.13/selectors.py", "select", 1},
                      {"/usr/lib/python3.13/asyncio/base_events.py", "run", 1}};
  const Stack joining{{"/usr/lib/python3.13/threading.py", "Thread.join", 1}, kTrain};
  const Stack printing{{"/home/me/train.py", "heartbeat", 3}};
  for (const Stack& main : {serving, joining}) {
    EXPECT_EQ(find_training_thread({{1, main}, {2, serving}}), 0U);
    EXPECT_EQ(find_training_thread({{1, main}, {2, printing}, {3, in_collective().stack}}), 2U);
    EXPECT_EQ(find_training_thread({{1, main}, {2, printing, 10}, {3, loading().stack, 500}, {4, joining, 900}}), 2U);
  }
  EXPECT_EQ(find_training_thread({{1, loading().stack}, {2, in_collective().stack}}), 0U) << "it writes a checkpoint";
  EXPECT_EQ(find_training_thread({}), 0U);
}

TEST(Verdict, TakesARankThatComputesInTheBackwardPassForNoneThatWaits) {
  Place backward = in_collective();
  backward.stack[0] = {"/x/site-packages/torch/autograd/graph.py", "_engine_run_backward", 800};
  auto job = job_of(4, in_collective(), {{2, backward}});
  EXPECT_EQ(judge(job).finding, Finding::Named);
  job[2].is_moving = job[2].is_spinning = true;
  EXPECT_EQ(judge(job).finding, Finding::WaitedFor);

  auto all = job_of(4, backward);
  EXPECT_EQ(judge(all).finding, Finding::Still);
  for (RankEvidence& one : all) {
    one.is_moving = one.is_spinning = true;
  }
  EXPECT_EQ(judge(all).finding, Finding::Moving);

  Place below = backward;
  below.stack.insert(below.stack.begin(), kLoad);
  EXPECT_EQ(judge(job_of(4, in_collective(), {{2, below}})).finding, Finding::Named) << "in a function of the user's";
  EXPECT_TRUE(may_compute(backward.stack));
  EXPECT_FALSE(may_compute(in_collective().stack));
}

TEST(Evidence, IsTheSameAfterItWasSent) {
  auto job = job_of(4, in_collective(), {{2, loading()}, {3, ended("killed by SIGKILL")}});
  job[1].counters = {
      .switches = 7, .cpu_ms = 8, .page_reads = 9, .io_bytes = 1'000'000'000'000, .children_ms = 3, .sending = 5};
  for (RankEvidence& one : job) {
    one.host = "gpu-0";
  }
  const std::string line = to_line({.ranks = job, .quiet = 7.5, .store = "in the store", .fabric_bytes = 1}, 10'000);
  const Evidence joined = join_lines({"nonsense", "{}", line});
  EXPECT_EQ(joined.fabric_bytes, 1U);
  EXPECT_EQ(join_lines({line, "{\"groups\": []}", line}).fabric_bytes, 2U);
  const auto& read = joined.ranks;
  EXPECT_EQ(joined.quiet, 7.5);
  EXPECT_EQ(joined.store, "in the store");
  EXPECT_EQ(describe(judge(read), joined, 4).back(), "in the store");
  ASSERT_EQ(read.size(), 4U);
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].place, job[i].place);
    EXPECT_EQ(read[i].pid, job[i].pid);
    EXPECT_EQ(read[i].host, "gpu-0");
  }
  const Counters& counters = read[1].counters;
  EXPECT_EQ(counters.io_bytes, 1'000'000'000'000U);
  EXPECT_EQ(
      (std::vector{counters.switches, counters.cpu_ms, counters.page_reads, counters.children_ms, counters.sending}),
      (std::vector<std::uint64_t>{7, 8, 9, 3, 5}));
}

TEST(Evidence, CountsTheNodesThatHaveAnsweredNothing) {
  const std::string line = to_line({job_of(2, loading()), 1}, 10'000);
  EXPECT_EQ(join_lines({line, "", "{\"host\": \"cut"}).missing, 2);
  const Evidence twice = join_lines({line, to_line({job_of(1, ended("exit code 0")), 1}, 10'000)});
  EXPECT_EQ(twice.ranks.size(), 2U) << "of two attempts: the first is kept";
  EXPECT_EQ(twice.missing, 0);
}

TEST(Evidence, LeavesOutANodeThatSpeaksOfOtherRanks) {
  const std::string line = to_line({job_of(2, loading()), 1}, 10'000);
  EXPECT_EQ(join_lines({line}, {"0-1"}).missing, 0);
  for (const char* const own : {"0", "2-3", "none"}) {
    const Evidence others = join_lines({line, line}, {own, "0-7"});
    EXPECT_EQ(others.missing, 1) << own;
    EXPECT_EQ(others.ranks.size(), 2U);
  }
  EXPECT_EQ(join_lines({line}, {""}).missing, 0) << "nobody knows its ranks";

  Evidence counts;
  counts.progress = {{0, {{"default", "", {0, 1}, 7, -1, ""}}}, {1, {{"default", "", {0, 1}, 6, -1, ""}}}};
  EXPECT_EQ(join_lines({to_line(counts, 10'000)}, {"0"}).missing, 0) << "NCCL tells rank 0 of all";
  EXPECT_EQ(join_lines({to_line(counts, 10'000)}, {"1"}).missing, 1);
  counts.progress[1].groups[0].completed = 5;
  EXPECT_EQ(join_lines({to_line(counts, 10'000)}, {"0"}).missing, 1) << "a flight recorder does not";
}

TEST(Evidence, KeepsTheRanksWhereTheStacksDoNotFit) {
  Place deep = loading();
  deep.stack.insert(deep.stack.end(), 190, kTrain);
  const std::string line = to_line({job_of(64, deep), 1}, 4'000);
  EXPECT_LE(line.size(), 4'000U);
  EXPECT_EQ(join_lines({line}).ranks.size(), 64U);

  auto job = job_of(20, deep);
  for (std::size_t i = 0; i < job.size(); ++i) {
    job[i].place.stack.front().function = std::string(300, static_cast<char>('a' + i));
  }
  EXPECT_LE(to_line({job, 1}, 4'000).size(), 4'000U) << "not even a frame of each";
}

TEST(Evidence, GivesNoStackToMoreRanksThanThereIsRoomFor) {
  std::string frames;
  for (int i = 0; i < 150; ++i) {
    frames += (i == 0 ? "" : ",") + ("[\"" + std::string(380, 'f') + "\",\"g\",1]");
  }
  std::string ranks;
  for (int rank = 0; rank < 5'000; ++rank) {
    ranks += (rank == 0 ? "[" : ",[") + std::to_string(rank) + ",1,1,1,1,1,1,1,1,1,1]";
  }
  const Evidence evidence =
      join_lines({R"({"groups":[{"place":{"state":"S","stack":[)" + frames + R"(]},"ranks":[)" + ranks + "]}]}"});
  EXPECT_EQ(evidence.ranks.size(), 5'000U);
  const auto has_stack = [](const RankEvidence& one) { return !one.place.stack.empty(); };
  const auto stacks = static_cast<std::size_t>(std::ranges::count_if(evidence.ranks, has_stack));
  EXPECT_GE(stacks, 200U);
  EXPECT_LE(stacks * 150 * 380, std::size_t{16} << 20U);
  EXPECT_EQ(evidence.ranks.back().place.no_stack, "its node sends more stacks than muster can keep");
}

TEST(Evidence, LeavesOutALineWhoseNumbersCannotBePassedOn) {
  const std::string line = to_line({job_of(2, loading()), 1}, 10'000);
  const Evidence evidence = join_lines({R"({"quiet":1e999,"groups":[]})", line});
  EXPECT_EQ(evidence.ranks.size(), 2U);
  EXPECT_EQ(evidence.missing, 1);
}

TEST(Movement, IsNotKnownOfARankThatTheFirstLookDidNotHave) {
  EXPECT_TRUE(moved(job_of(15, in_collective()), job_of(16, in_collective())).back().is_moving);
  auto computing = job_of(1, loading());
  computing[0].is_active = true;
  EXPECT_TRUE(moved(job_of(1, loading()), computing)[0].is_moving);
}

RankEvidence after(void (*change)(RankEvidence&), const Place& place = loading(), double seconds = 10) {
  const auto before = job_of(1, place);
  auto now = before;
  change(now[0]);
  return moved(before, now, seconds)[0];
}

TEST(Movement, IsAStackFilesPagesOrWorkOfChildrenThatChange) {
  EXPECT_FALSE(after([](RankEvidence&) {}).is_moving);
  EXPECT_TRUE(after([](RankEvidence& one) { one.place.stack[0].function = "other"; }).is_moving);
  EXPECT_FALSE(after([](RankEvidence& one) { one.place.stack[0].line = 213; }).is_moving) << "a loop";
  EXPECT_TRUE(after([](RankEvidence& one) { one.counters.io_bytes = 20'000'000; }).is_moving);
  EXPECT_FALSE(after([](RankEvidence& one) { one.counters.io_bytes = 2'900'000; }).is_moving) << "reads /proc";
  EXPECT_TRUE(after([](RankEvidence& one) { one.counters.children_ms = 600; }).is_moving);
  EXPECT_FALSE(after([](RankEvidence& one) { one.counters.children_ms = 100; }).is_moving);
  EXPECT_TRUE(after([](RankEvidence& one) { one.counters.page_reads = 20; }).is_moving);
  EXPECT_TRUE(after([](RankEvidence& one) { one.counters.sending = 77; }).is_moving);
}

TEST(Movement, OfAThreadIsItsTimeAndItsWaits) {
  const RankEvidence computing = after([](RankEvidence& one) { one.counters.cpu_ms = 5'000; });
  EXPECT_TRUE(computing.is_moving && computing.is_spinning);
  EXPECT_EQ(computing.cpu_share, 0.5);
  EXPECT_FALSE(after([](RankEvidence& one) { one.counters.cpu_ms = 100; }).is_moving);
  const auto looks = [](RankEvidence& one) { one.counters.switches = 2; };
  EXPECT_TRUE(after(looks, at("main", "hrtimer_nanosleep")).is_moving) << "each five seconds";
  EXPECT_TRUE(after(looks, at("main", "sk_stream_wait_memory")).is_moving) << "it has sent something";
  Place loader = at("train", "do_sys_poll");
  loader.stack.insert(loader.stack.begin(), Frame{"/x/site-packages/torch/utils/data/dataloader.py", "_get_data", 1});
  EXPECT_FALSE(after(looks, loader).is_moving) << "whether its processes live, each five seconds";
  const RankEvidence beside = after([](RankEvidence& one) { one.counters.threads_ms = 1'000; });
  EXPECT_TRUE(beside.is_moving && beside.is_spinning) << "its other threads compute";
  EXPECT_FALSE(after([](RankEvidence& one) { one.counters.threads_ms = 300; }).is_moving) << "a heartbeat";
  const RankEvidence reading = after([](RankEvidence& one) {
    one.counters.cpu_ms = 5'000;
    one.counters.io_bytes = 100'000'000;
  });
  EXPECT_TRUE(reading.is_moving && !reading.is_spinning);
}

TEST(Movement, OfARankThatWaitsForOthersIsOnlyWhatWentThrough) {
  const auto works = [](RankEvidence& one) {
    one.counters.cpu_ms = 10'000;
    one.counters.io_bytes = 100'000'000;
    one.counters.children_ms = 10'000;
  };
  EXPECT_FALSE(after(works, in_collective()).is_moving) << "threads of libraries always do something";
  EXPECT_TRUE(after([](RankEvidence& one) { one.counters.switches = 1; }, in_collective()).is_moving);
  Place lock = at("load", "hrtimer_nanosleep");
  lock.stack.insert(lock.stack.begin(), Frame{"/x/site-packages/torch/utils/file_baton.py", "FileBaton.wait", 49});
  EXPECT_FALSE(after([](RankEvidence& one) { one.counters.switches = 100; }, lock).is_moving);
  const auto wakes = [](RankEvidence& one) { one.counters.switches = 1; };
  EXPECT_TRUE(after(wakes, with_state('D')).is_moving) << "it came out of the call";
}

std::string words_of(const StallDetector::Step& step) {
  return step.gathers
             ? "gather"
             : join(step.lines, " | ") + (step.lines.empty() ? "" : " | ") + "in " + format_seconds(step.delay);
}

TEST(StallDetector, ReportsOnceAtTheLimitAndSaysThatTheJobMovesAgain) {
  StallDetector detector({60, 0}, 4);
  const auto job = job_of(4, in_collective(), {{1, loading()}});

  EXPECT_EQ(words_of(detector.on_time(0)), "in 30.00");
  EXPECT_EQ(words_of(detector.on_time(30)), "gather");
  EXPECT_EQ(words_of(detector.on_evidence({job, 30})), "in 30.00");
  EXPECT_EQ(words_of(detector.on_time(60)), "gather");
  EXPECT_TRUE(words_of(detector.on_evidence({job, 60}))
                  .starts_with("the job has not moved for 60 s: 3 of 4 ranks wait in all_reduce for rank 1 | rank 1 "
                               "(gpu-0, pid 4701) is at "));
  EXPECT_EQ(words_of(detector.on_time(90)), "gather");
  EXPECT_EQ(words_of(detector.on_evidence({job, 90})), "in 30.00");
  EXPECT_EQ(words_of(detector.on_time(2)), "the job moves again after 90 s | in 28.00");
  EXPECT_EQ(words_of(detector.on_time(2)), "in 28.00");
}

TEST(StallDetector, TellsTheBeginningOfAStallFromOtherLooks) {
  StallDetector detector({60, 0}, 4);
  const auto job = job_of(4, in_collective(), {{1, loading()}});

  EXPECT_TRUE(detector.on_time(10).is_moving);
  EXPECT_FALSE(detector.on_evidence({job, 30}).look);
  const auto first = detector.on_evidence({job, 60}).look;
  ASSERT_TRUE(first);
  EXPECT_EQ(first->why, "the job has not moved for 60 s");
  EXPECT_EQ(first->verdict.front(), "3 of 4 ranks wait in all_reduce for rank 1");
  EXPECT_EQ(first->ranks, std::vector{1});
  EXPECT_TRUE(first->begins_stall);
  const auto second = detector.on_evidence({job, 90});
  EXPECT_FALSE(second.look->begins_stall);
  EXPECT_FALSE(second.is_moving);
  EXPECT_TRUE(detector.on_time(2).is_moving);
}

TEST(StallDetector, NamesARankInAStallThatHasBegunAlready) {
  StallDetector detector({60, 0}, 4);
  (void)detector.on_evidence({job_of(4, in_collective()), 30});
  const auto alike = detector.on_evidence({job_of(4, in_collective()), 60});
  EXPECT_TRUE(alike.look->begins_stall);
  EXPECT_EQ(alike.look->ranks, std::vector<int>());

  (void)detector.on_evidence({job_of(4, in_collective(), {{1, loading()}}), 90});
  const auto named = detector.on_evidence({job_of(4, in_collective(), {{1, loading()}}), 120});
  EXPECT_FALSE(named.look->begins_stall);
}

TEST(StallDetector, WaitsForTheNodesThatAreNotQuiet) {
  StallDetector detector({60, 0}, 4);
  const auto job = job_of(4, in_collective(), {{1, loading()}});

  EXPECT_EQ(words_of(detector.on_evidence({job, 12})), "in 18.00") << "another node wrote a line 12 s ago";
  EXPECT_EQ(words_of(detector.on_evidence({job, 40})), "in 20.00");
  EXPECT_EQ(words_of(detector.on_evidence({job, 31})), "in 1.00") << "a line was written meanwhile";
  EXPECT_EQ(words_of(detector.on_evidence({job, 32})), "in 28.00");
}

TEST(StallDetector, LooksTwiceAtAJobThatWasPaused) {
  StallDetector detector({60, 70}, 4);
  const auto job = job_of(4, in_collective(), {{2, loading()}});
  EXPECT_TRUE(detector.on_time(300).gathers);
  EXPECT_EQ(words_of(detector.on_evidence({job, 300})), "in 14.00") << "as long as it was stopped nobody could write";
  EXPECT_EQ(words_of(detector.on_evidence({job, 1})), "in 29.00");
}

TEST(StallDetector, AccusesNobodyWhileANodeDoesNotAnswer) {
  StallDetector detector({60, 60}, 8);
  const Evidence some{.ranks = job_of(4, in_collective(), {{2, loading()}}), .quiet = 60, .missing = 1};
  (void)detector.on_evidence(some);
  const auto step = detector.on_evidence({.ranks = some.ranks, .quiet = 90, .missing = 1});
  EXPECT_TRUE(step.lines.empty());
  EXPECT_FALSE(step.hang);
}

TEST(StallDetector, AccusesNobodyWhileTheFabricCarriesData) {
  const auto words = [](const std::vector<RankEvidence>& job, std::uint64_t bytes) {
    StallDetector detector({60, 0}, 16);
    (void)detector.on_evidence({.ranks = job, .quiet = 30, .fabric_bytes = 7});
    return words_of(detector.on_evidence({.ranks = job, .quiet = 60, .fabric_bytes = 7 + bytes}));
  };
  const auto job = job_of(16, in_collective(), {{1, loading()}});
  EXPECT_EQ(words(job, 30'000'000), "in 30.00");
  EXPECT_TRUE(words(job, 0).ends_with(" | the RDMA ports of its hosts carry nothing | in 30.00")) << words(job, 0);
  EXPECT_TRUE(words(job, 60'000).ends_with(" | the RDMA ports of its hosts carry 2 kB/s | in 30.00"));
  EXPECT_TRUE(words(job_with_progress(), 30'000'000).starts_with("the job has not moved for 60 s: 14 of 16 ranks"))
      << "the collectives are known: the data may be another job's";
}

TEST(StallDetector, AccusesNobodyWhoMoves) {
  StallDetector detector({60, 0}, 4);
  auto job = job_of(4, in_collective(), {{1, loading()}});
  (void)detector.on_evidence({job, 30});
  job[1].counters.io_bytes = 1'000'000'000;

  EXPECT_EQ(words_of(detector.on_evidence({job, 60})), "in 30.00");
  EXPECT_TRUE(words_of(detector.on_evidence({job, 90})).starts_with("the job has not moved for 90 s"))
      << "now it stands";
}

TEST(StallDetector, SaysOnceThatAllAreAlike) {
  StallDetector detector({60, 0}, 4);
  const auto job = job_of(4, in_collective());
  (void)detector.on_evidence({job, 30});
  EXPECT_TRUE(
      words_of(detector.on_evidence({job, 60})).starts_with("the job has not moved for 60 s: all ranks are at "));
  EXPECT_EQ(words_of(detector.on_evidence({job, 90})), "in 30.00");
  EXPECT_EQ(words_of(detector.on_time(1)), "in 29.00") << "nothing was wrong";
}

/// 16 ranks of which two have not come to a collective, as seen without asking the recorders, which listen.
Evidence without_recorders(double quiet) {
  Evidence evidence{.ranks = job_of(16, in_collective()), .quiet = quiet, .has_idle_recorders = true};
  return evidence;
}

Evidence with_recorders(double quiet) {
  Evidence evidence{.ranks = job_of(16, in_collective()), .quiet = quiet};
  const auto known = job_with_progress();
  for (std::size_t i = 0; i < known.size(); ++i) {
    evidence.ranks[i].groups = known[i].groups;
  }
  return evidence;
}

TEST(StallDetector, AsksTheRecordersUntilTheyNameARank) {
  StallDetector detector({60, 200}, 16);
  EXPECT_EQ(words_of(detector.on_evidence(without_recorders(30))), "in 30.00") << "the job may go on";
  EXPECT_TRUE(detector.on_evidence(without_recorders(60)).asks_recorders);
  EXPECT_EQ(words_of(detector.on_evidence(with_recorders(60))), "in 30.00") << "a rank that is behind may go on";
  EXPECT_TRUE(detector.on_evidence(without_recorders(90)).asks_recorders);
  EXPECT_TRUE(words_of(detector.on_evidence(with_recorders(90)))
                  .starts_with("the job has not moved for 90 s: 14 of 16 ranks wait in all_gather 84925"));
  EXPECT_EQ(words_of(detector.on_evidence(without_recorders(115))), "in 30.00") << "it is known";
  for (const int quiet : {120, 160, 200}) {  // the three looks at which it must hang to be ended
    EXPECT_TRUE(detector.on_evidence(without_recorders(quiet)).asks_recorders);
    const auto step = detector.on_evidence(with_recorders(quiet));
    EXPECT_EQ(step.hang ? step.hang->ranks : std::vector<int>(),
              quiet == 200 ? (std::vector{9, 14}) : std::vector<int>());
  }
}

TEST(StallDetector, AsksTheRecordersOfAJobThatTrainsInSilenceMoreAndMoreRarely) {
  StallDetector detector({60, 0}, 16);
  std::vector<int> asked;
  for (int quiet = 30; quiet <= 600; quiet += 30) {
    auto step = detector.on_evidence(without_recorders(quiet));
    if (step.asks_recorders) {
      asked.push_back(quiet);
      Evidence evidence = with_recorders(quiet);
      for (RankEvidence& one : evidence.ranks) {
        one.groups[0].enqueued += quiet;
      }
      step = detector.on_evidence(std::move(evidence));
    }
    EXPECT_EQ(words_of(step), "in 30.00") << quiet;
  }
  EXPECT_EQ(asked, (std::vector{60, 90, 180, 210, 420, 450}));
}

TEST(StallDetector, LeavesTheRecordersOfAJobThatMovesAlone) {
  StallDetector detector({60, 0}, 16);
  auto job = job_of(16, in_collective());
  (void)detector.on_evidence({.ranks = job, .quiet = 30, .has_idle_recorders = true});
  for (RankEvidence& one : job) {
    one.counters.switches = 1;
  }
  EXPECT_FALSE(detector.on_evidence({.ranks = job, .quiet = 60, .has_idle_recorders = true}).gathers);
  EXPECT_FALSE(detector.on_evidence({.ranks = job_with_progress(), .quiet = 90, .has_idle_recorders = true}).gathers)
      << "the counts are known";
}

TEST(StallDetector, LeavesTheRecordersOfAJobThatImportsAlone) {
  Place importing = loading();
  importing.stack.push_back({"<frozen importlib._bootstrap>", "_find_spec", 1200});
  importing.stack.push_back(kTrain);
  for (const Place& place : {importing, loading()}) {
    StallDetector detector({60, 0}, 16);
    const auto job = job_of(16, in_collective(), {{3, place}});
    (void)detector.on_evidence({.ranks = job, .quiet = 30, .has_idle_recorders = true});
    EXPECT_EQ(detector.on_evidence({.ranks = job, .quiet = 60, .has_idle_recorders = true}).asks_recorders,
              place == loading());
  }
}

std::string hang_of(const StallDetector::Step& step) {
  return step.hang ? step.hang->why + " [" + describe_ranks(step.hang->ranks) + "]" : "none";
}

/// The first line of a look, if there is one.
std::string said_at(StallDetector& detector, const std::vector<RankEvidence>& job, int quiet) {
  const auto lines = detector.on_evidence({job, static_cast<double>(quiet)}).lines;
  return lines.empty() ? "" : std::to_string(quiet) + ": " + lines.front() + "\n";
}

TEST(StallDetector, EndsAJobThatHangsAtThreeLooks) {
  StallDetector detector({60, 100}, 4);
  const auto job = job_of(4, in_collective(), {{1, loading()}});
  EXPECT_EQ(detector.on_evidence({job, 30}).delay, 20);
  EXPECT_EQ(detector.on_evidence({job, 50}).delay, 10);
  EXPECT_EQ(hang_of(detector.on_evidence({job, 60})), "none");
  EXPECT_EQ(hang_of(detector.on_evidence({job, 80})), "none");
  EXPECT_EQ(hang_of(detector.on_evidence({job, 100})),
            "the job has not moved for 100 s: 3 of 4 ranks wait in all_reduce for rank 1 [rank 1]");
}

TEST(StallDetector, EndsNoJobWhoseLastLooksDiffer) {
  StallDetector detector({0, 100}, 4);
  const auto job = job_of(4, in_collective(), {{1, loading()}});
  (void)detector.on_evidence({job, 50});
  (void)detector.on_evidence({job, 70});
  auto other = job_of(4, in_collective(), {{2, loading()}});
  EXPECT_EQ(hang_of(detector.on_evidence({other, 100})), "none");
  EXPECT_EQ(hang_of(detector.on_evidence({other, 120})), "none");
  EXPECT_EQ(hang_of(detector.on_evidence({other, 140})), "none");
  EXPECT_NE(hang_of(detector.on_evidence({other, 160})), "none");
}

TEST(StallDetector, EndsNoJobWhoseRanksWorkAreIdleOrCannotBeRead) {
  const auto job_with = [](const Place& place) { return job_of(4, in_collective(), {{1, place}}); };
  auto spinning = job_with(loading());
  for (auto job : {job_with(at("main", "do_wait")), job_of(4, without_stack()), spinning}) {
    StallDetector detector({0, 60}, 4);
    for (int quiet = 30; quiet < 300; quiet += 30) {
      job[1].counters.cpu_ms += 30'000;
      EXPECT_EQ(hang_of(detector.on_evidence({job, static_cast<double>(quiet)})), "none") << quiet;
    }
  }
}

TEST(StallDetector, EndsNoJobWhoseRanksHaveNotMetYet) {
  Place joining = in_collective();
  joining.stack.front().function = "init_process_group";
  const auto job = job_of(4, joining, {{1, loading()}});
  const auto ends_at = [&](const StallDetector::Limits& limits) {
    StallDetector detector(limits, 4);
    for (int quiet = 30; quiet < 300; quiet += 15) {
      if (detector.on_evidence({job, static_cast<double>(quiet)}).hang) {
        return quiet;
      }
    }
    return 0;
  };
  EXPECT_EQ(ends_at({60, 60, 0}), 0);
  EXPECT_EQ(ends_at({60, 60, 120}), 120);
}

TEST(StallDetector, WaitsFiveLimitsBeforeRanksThatFindEachOtherAreSaidToStandStill) {
  Place joining = in_collective();
  joining.stack.front().function = "init_process_group";
  const auto said_from = [](const Place& place) {
    StallDetector detector({60, 0}, 4);
    for (int quiet = 30; quiet <= 600; quiet += 30) {
      if (!said_at(detector, job_of(4, place), quiet).empty()) {
        return quiet;
      }
    }
    return 0;
  };
  EXPECT_EQ(said_from(joining), 300) << "the store of a busy machine may answer late";
  EXPECT_EQ(said_from(in_collective()), 60);
}

TEST(StallDetector, NamesWhoSpinsAtTheSameCallsForFiveTimesTheLimit) {
  StallDetector detector({60, 0}, 4);
  auto job = job_of(4, in_collective(), {{1, loading()}});
  std::string said;
  for (int quiet = 30; quiet <= 360; quiet += 30) {
    said += said_at(detector, job, quiet);
    job[1].counters.cpu_ms += 30'000;
  }
  EXPECT_EQ(said,
            "300: the job waits for rank 1, which works: 100 % of a CPU, at train.py:212 in load_shard\n"
            "330: the job has not moved for 330 s: 3 of 4 ranks wait in all_reduce for rank 1\n");
}

TEST(StallDetector, LooksForHalfOfTheLimitAtWhoStandsStill) {
  StallDetector detector({60, 90}, 4);
  auto job = job_of(4, in_collective(), {{1, loading()}});
  std::string said;
  for (int quiet = 30; quiet <= 600; quiet += 15) {
    said += said_at(detector, job, quiet);
    job[1].counters.switches += quiet % 30 == 0 ? 1 : 0;  // of every second look nothing is seen
  }
  EXPECT_EQ(said.find("has not moved"), std::string::npos) << said;
}

TEST(StallDetector, NamesNobodyWhoPollsOrHasToShareItsCpu) {
  for (const auto work : {+[](RankEvidence& one) { one.counters.switches += 6; },
                          +[](RankEvidence& one) { one.counters.cpu_ms += 5'000; }}) {
    StallDetector detector({60, 90}, 4);
    auto job = job_of(4, in_collective(), {{1, loading()}});
    std::string said;
    for (int quiet = 30; quiet <= 900; quiet += 30) {
      said += said_at(detector, job, quiet);
      work(job[1]);
    }
    EXPECT_TRUE(said.starts_with("300: the job waits for rank 1, which ")) << said;
    EXPECT_EQ(said.find("has not moved"), std::string::npos) << said;
  }
}

/// Ranks that have been quiet for so long but for rank 3, which writes each second.
Evidence beside_writer(std::vector<RankEvidence> job, int quiet) {
  for (RankEvidence& one : job) {
    one.host = "gpu-0";
    one.quiet_ms = one.rank == 3 ? 1'000 : static_cast<std::uint64_t>(quiet) * 1'000;
  }
  return join_lines({to_line({.ranks = job, .quiet = 1}, 100'000)});
}

TEST(StallDetector, NamesARankBesideOneThatOnlyWrites) {
  StallDetector detector({60, 100}, 4);
  EXPECT_FALSE(detector.on_time(1, 59).gathers);
  EXPECT_TRUE(detector.on_time(1, 60).gathers);
  const auto job = job_of(4, in_collective(), {{1, loading()}});
  EXPECT_EQ(words_of(detector.on_evidence(beside_writer(job, 1'000))), "in 60.00") << "they are always quiet";
  EXPECT_EQ(words_of(detector.on_evidence(beside_writer(job, 1'020))), "in 20.00");
  EXPECT_TRUE(words_of(detector.on_evidence(beside_writer(job, 1'060)))
                  .starts_with("the job has not moved for 60 s: 3 of 4 ranks wait in all_reduce for rank 1 | "));
  const auto end = detector.on_evidence(beside_writer(job, 1'100));
  EXPECT_EQ(hang_of(end), "the job has not moved for 100 s: 3 of 4 ranks wait in all_reduce for rank 1 [rank 1]");
  auto passed = job;
  passed[0].counters.switches = 1;
  EXPECT_EQ(words_of(detector.on_evidence(beside_writer(passed, 1'160))), "the job moves again | in 60.00");
}

TEST(StallDetector, AccusesNobodyBesideAWriterWhoMayBeSlow) {
  const auto said = [](const std::vector<RankEvidence>& job, void (*change)(std::vector<RankEvidence>&)) {
    StallDetector detector({60, 600}, 4);
    auto now = job;
    std::string words;
    for (int quiet = 100; quiet < 600; quiet += 60) {
      Evidence evidence = beside_writer(now, quiet);
      evidence.has_idle_recorders = true;
      const auto step = detector.on_evidence(std::move(evidence));
      EXPECT_FALSE(step.hang || step.asks_recorders || step.gathers);
      words += join(step.lines, " ");
      change(now);
    }
    return words;
  };
  const auto job = job_of(4, in_collective(), {{3, loading()}});
  EXPECT_EQ(said(job, [](std::vector<RankEvidence>& ranks) { ++ranks[3].counters.switches; }), "")
      << "its main thread may be the one that writes";
  EXPECT_EQ(said(job_of(4, in_collective()), [](std::vector<RankEvidence>&) {}), "") << "nobody is named";
  EXPECT_EQ(said(job_of(4, without_stack(), {{1, loading()}}), [](std::vector<RankEvidence>&) {}), "");
  EXPECT_NE(said(job, [](std::vector<RankEvidence>&) {}), "");
}

TEST(StallDetector, SaysOnceThatItCannotSeeWhetherAJobHangs) {
  StallDetector detector({60, 0}, 4);
  std::string said;
  for (int quiet = 30; quiet <= 360; quiet += 30) {
    said += said_at(detector, job_of(4, without_stack()), quiet);
  }
  EXPECT_EQ(said,
            "60: no rank has written a line for 60 s, and whether the job hangs cannot be seen: rank 0 (gpu-0) has no "
            "Python stack: py-spy: not found\n");

  Place foreign = without_stack();
  foreign.no_stack = kNotPython;
  StallDetector other({60, 0}, 4);
  EXPECT_EQ(said_at(other, job_of(4, foreign), 30) + said_at(other, job_of(4, foreign), 60), "");
}

}  // namespace
}  // namespace muster::hang
