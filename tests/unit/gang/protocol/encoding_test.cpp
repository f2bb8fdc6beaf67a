// Messages between agents: written and read back, and malformed ones refused.
#include "base/frame.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "gang/gang_config.hpp"
#include "gang/protocol/message_encoding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace muster::gang {
namespace {

using namespace std::string_literals;

Failure some_failure() {
  return {.node = {3},
          .host = "llm-worker-3",
          .role = "trainer",
          .global_rank = {25},
          .local_rank = {1},
          .pid = 4711,
          .status = ExitStatus::signalled(11, true),
          .exit_code = 139,
          .run_time_seconds = 12.5,
          .start_error = "",
          .error_message = "RuntimeError: \"x\"\n",
          .last_lines = {"one", "\x1B[31mtwo", "\xE2\x82\xAC"},
          .is_early_exit = true,
          .knows_order = false,
          .label = "trainer 3",
          .is_unranked = true,
          .service = "store",
          .was_passed_on = true,
          .was_asked = true,
          .hints = {"one"},
          .wrote_first = true};
}

JobEnd some_end() {
  return {.verdict = Verdict::Hung,
          .kind = EndKind::Hung,
          .exit_code = 86,
          .attempt = 2,
          .reason = "ranks ran on",
          .first_failure = some_failure(),
          .stop_signal = 15,
          .rank_zero_had_ended = true,
          .left_early = EarlyLeaver{{1}, "b", {3}, 2.5},
          .gang = {.nodes = 4,
                   .arrival_skew_seconds = 1.5,
                   .slowest = {{{3}, "c", 1.5}, {{1}, "b", 0.5}},
                   .past_attempts = {{0, "worker failed"}, {1, "node lost", true, {"why", "ValueError"}, {"rank 1"}}},
                   .outliers = {{{2}, "c", 3, "driver 570.86 (580.95)"}}}};
}

Join some_join() {
  Join join;
  join.version = "0.1.0";
  join.incarnation = "0123456789abcdef";
  join.job.job_id = "job-7";
  join.job.mode = "torchrun";
  join.job.least_nodes = 2;
  join.job.most_nodes = 4;
  join.node = {NodeRank{3}, 8, "llm-worker-3", std::chrono::milliseconds(1'500), "trainer"};
  join.waited_seconds = 0.25;
  return join;
}

Start some_start() {
  Start start{.placement = {}, .orphan_limit_seconds = 20.5};
  start.placement = {.attempt = 1,
                     .restarts = 2,
                     .max_restarts = 3,
                     .nodes = 4,
                     .node_rank = {3},
                     .slots_here = 8,
                     .slots_before = 24,
                     .slots_total = 32,
                     .host = {1, 2, 4},
                     .role = {8, 24},
                     .master_address = "10.0.0.1",
                     .worker_port = 29'501,
                     .ports = {},
                     .is_decided = true};
  return start;
}

Join full_join() {
  Join join = some_join();
  join.job.template_digest = "0123456789abcdef";
  join.job.are_tasks = true;
  join.job.total_slots = 32;
  join.job.roles = {{"ps", 1}, {"worker", 3}};
  join.job.endpoints = {{"ps", {"a:2222"}}, {"worker", {"b:2222", "c:2222"}}};
  join.job.success_roles = {"worker"};
  join.waits_for = "its rank table: initializing";
  join.contributes = {"ports", "topology"};
  join.node.devices = {"0", "GPU-5b6f"};
  join.node.device_view = "fedcba9876543210";
  return join;
}

/// Each message with every optional field, and without any.
std::vector<Message> all_messages() {
  Join anonymous = some_join();
  anonymous.node.rank.reset();
  Failure unstarted;
  unstarted.start_error = "executing: No such file or directory";
  Failure exited = some_failure();
  exited.status = ExitStatus::exited(3);
  return {some_join(),
          anonymous,
          full_join(),
          InputStatus{"its rank table"},
          InputStatus{"waited in vain", 75},
          InputStatus{},
          Heartbeat{},
          Heartbeat{{.used_mib = 65'331, .limit_mib = 65'536, .oom_kills = 2}},
          Failed{1, some_failure()},
          Failed{1, unstarted},
          Failed{1, exited},
          Succeeded{1, {9}, {1}, "trainer", 12, 0.5, true},
          AttemptOver{1, some_failure(), true},
          AttemptOver{1, some_failure(), false},
          AttemptOver{},
          StopFromAgent{15},
          StopFromAgent{15, false, std::chrono::milliseconds(1'500)},
          SuspendRequested{"SIGTERM", std::chrono::milliseconds(26'000), false},
          SuspendRequested{"muster suspend", {}, true},
          WorkSaved{1, "rank 3"},
          StatusQuery{7},
          StatusQuery{8, "stacks"},
          Announce{"the job moves again after 412 s"},
          Announce{"the job has not moved for 60 s", true, {3, 7}},
          Hung{1, "all ranks are at a.py:3", {}},
          Hung{1, "rank 3 is at b.py:4", {3, 7}},
          StatusReport{7, R"({"node":0})", 2},
          StatusReport{7, R"({"node":0})", 2, "0-7", "driver 570.86 (580.95)"},
          StatusReport{7, R"({"node":0})", 1, "0-7", "", "", "node 1 (gpu-17)"},
          Suspend{1, {"SIGTERM", std::chrono::milliseconds(26'000), false}},
          Suspend{1, {"SIGTERM", {}, true}},
          Admitted{NodeRank{3}, 7.5},
          Admitted{},
          Admitted{std::nullopt, 8, true},
          Refused{"the job has enough nodes", true},
          Refused{},
          Waiting{"3 of 4 nodes are here"},
          Contribute{{{"fence", 1, 7, {{0}, {3}}}, 100'000, 60'000, 32'768, "\x00\xFF piece"}},
          Contribute{},
          Merged{{{"ports", 2, std::nullopt, {}}, 3, 3, 0, "all"}},
          some_start(),
          Start{},
          Stop{1, 2, "worker failed", some_end()},
          Stop{1, 2, "suspended", some_end(), false, std::chrono::milliseconds(500)},
          Stop{},
          Finish{some_end()},
          Finish{}};
}

std::string error_of(const std::string& text) {
  const auto message = decode(text);
  if (message) {
    return "it was read";
  }
  EXPECT_EQ(message.error().kind, ErrorKind::BadData);
  return message.error().message;
}

/// The message with one field changed.
std::string with(const Message& message, const char* pointer, json::value value) {
  json::value document = json::parse(encode(message));
  document.at_pointer(pointer) = std::move(value);
  return json::serialize(document);
}

TEST(Messages, AreReadAsTheyWereWritten) {
  for (const Message& message : all_messages()) {
    const std::string text = encode(message);
    const auto read = decode(text);
    ASSERT_TRUE(read) << text << ": " << read.error().message;
    EXPECT_EQ(read->index(), message.index());
    EXPECT_EQ(encode(*read), text);
  }
}

TEST(Messages, KeepEachField) {
  const auto join = std::get<Join>(*decode(encode(some_join())));
  EXPECT_EQ(join.job, some_join().job);
  EXPECT_EQ(join.node, some_join().node);
  EXPECT_EQ(join.waited_seconds, 0.25);

  const auto finish = std::get<Finish>(*decode(encode(Finish{some_end()})));
  EXPECT_EQ(finish.end.verdict, Verdict::Hung);
  EXPECT_EQ(finish.end.kind, EndKind::Hung);
  EXPECT_EQ(finish.end.stop_signal, 15);
  EXPECT_EQ(finish.end.gang.slowest.at(0).host, "c");
  EXPECT_EQ(finish.end.gang.past_attempts.at(1).reason, "node lost");
  EXPECT_TRUE(finish.end.gang.past_attempts.at(1).is_loss);
  EXPECT_FALSE(finish.end.gang.past_attempts.at(0).is_loss);
  EXPECT_EQ(finish.end.gang.past_attempts.at(1).also_failed, std::vector<std::string>{"rank 1"});
  EXPECT_EQ(finish.end.first_failure->status, ExitStatus::signalled(11, true));
  EXPECT_EQ(finish.end.first_failure->last_lines, some_failure().last_lines);
  EXPECT_EQ(finish.end.first_failure->error_message, some_failure().error_message);
  EXPECT_TRUE(finish.end.first_failure->is_early_exit);
  EXPECT_FALSE(finish.end.first_failure->knows_order);

  const auto start = std::get<Start>(*decode(encode(some_start())));
  EXPECT_EQ(start.placement, some_start().placement);
  EXPECT_EQ(start.orphan_limit_seconds, 20.5);
}

// --- Pieces of values: every byte of the frame --------------------------------------------------

TEST(Messages, HaveTheBytesOfAPieceBehindTheJson) {
  const Contribute contribute{{{"ports", 0, std::nullopt, {}}, 3, 3, 0, "\0{\xFF"s}};
  EXPECT_EQ(frame(encode(contribute)),
            "\0\0\0\x52"
            R"({"type":"contribute","key":"ports","attempt":0,"size":3,"packed":3,"offset":0})"
            "\0"
            "\0{\xFF"s);
  const Merged merged{{{"fence", 2, 7, {{0}, {12}}}, 40'000, 32'771, 32'768, "end"}};
  EXPECT_EQ(frame(encode(merged)),
            "\0\0\0\x73"
            R"({"type":"merged","key":"fence","attempt":2,"round":7,"nodes":[0,12],"size":40000,)"
            R"("packed":32771,"offset":32768})"
            "\0"
            "end"s);
  const Merged empty{{{"fence", 0, 0, {}}, 0, 0, 0, ""}};
  EXPECT_EQ(frame(encode(empty)),
            "\0\0\0\x54"
            R"({"type":"merged","key":"fence","attempt":0,"round":0,"size":0,"packed":0,"offset":0})"s);
}

TEST(Messages, KeepAPiece) {
  const Chunk chunk{{"fence", 2, 7, {{0}, {12}}}, 40'000, 32'771, 3, std::string(32'768, '\0')};
  const auto read = decode(encode(Contribute{chunk}));
  ASSERT_TRUE(read) << read.error().message;
  const Chunk& kept = std::get<Contribute>(*read).chunk;
  EXPECT_EQ(kept.id, chunk.id);
  EXPECT_EQ(kept.size, chunk.size);
  EXPECT_EQ(kept.compressed_size, chunk.compressed_size);
  EXPECT_EQ(kept.offset, chunk.offset);
  EXPECT_EQ(kept.bytes, chunk.bytes);
}

TEST(Messages, HoldAPieceWithAsManyNodesAsMayBeListed) {
  Chunk chunk{{std::string(kMostKeyBytes, 'k'), 0, 0, {}}, kMostValueBytes, kMostValueBytes, 0, ""};
  chunk.id.nodes.assign(kMostListedNodes, NodeRank{1'000'000});
  chunk.bytes.assign(kMostPieceBytes, '\xFF');
  const auto read = decode(encode(Contribute{chunk}));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(std::get<Contribute>(*read).chunk.id.nodes.size(), kMostListedNodes);
}

TEST(Messages, RefuseBytesWhereThereAreNone) {
  EXPECT_EQ(error_of(encode(Heartbeat{}) + "\0x"s), "in 'beat' bytes follow that it does not have");
  EXPECT_TRUE(decode(encode(Heartbeat{}) + "\0"s));
  EXPECT_EQ(error_of(encode(Contribute{}) + "\0"s + std::string(32'769, 'x')),
            "in 'contribute' 32769 bytes follow, expected at most 32768");
  EXPECT_NE(error_of(with(Contribute{}, "/size", kMostValueBytes + 1)), "it was read");
  EXPECT_NE(error_of(with(Contribute{}, "/offset", -1)), "it was read");
  EXPECT_NE(error_of(with(Contribute{}, "/key", json::string(65, 'x'))), "it was read");
}

TEST(Messages, SayNothingOfWhatMostJobsDoNotHave) {
  const std::string join = encode(some_join());
  for (const char* const name : {"contributes", "total_slots", "roles", "endpoints", "waits_for", "device"}) {
    EXPECT_EQ(join.find(name), std::string::npos) << join;
  }

  Start start;
  start.placement.ports = {{"10.0.0.1", {5'000}}};
  EXPECT_EQ(encode(start), encode(Start{})) << "nodes exchange them";
}

TEST(Messages, KeepTheFactsOfTheJob) {
  const auto read = std::get<Join>(*decode(encode(full_join())));
  EXPECT_EQ(read.job, full_join().job);
  EXPECT_EQ(read.node, full_join().node);
  EXPECT_EQ(read.waits_for, full_join().waits_for);
  EXPECT_EQ(read.contributes, full_join().contributes);
}

TEST(Messages, AreRefusedByTheirVersionBeforeAnythingElse) {
  for (const char* const text : {R"({"type": "join", "protocol": 1, "version": "0.1.0", "mode": "m"})",
                                 R"({"type": "join", "protocol": 5, "version": "9.9"})"}) {
    const auto read = decode(text);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_NE(std::get<Join>(*read).protocol, kProtocol);
  }
  EXPECT_EQ(error_of(R"({"type": "join", "protocol": 4, "version": "9.9"})"), "in 'join' 'incarnation' is missing");
}

TEST(Facts, AreComparedAsTheyAreSent) {
  JobFacts job = full_join().job;
  EXPECT_EQ(normalized(job), job);

  job.job_id = "a\nb" + std::string(1'000, 'x');
  job.endpoints.assign(100, {std::string(300, '"'), std::vector<std::string>(100, std::string(300, '"'))});
  const JobFacts sent = normalized(job);
  EXPECT_NE(sent, job);
  EXPECT_EQ(normalized(sent), sent);
  Join join = full_join();
  join.job = sent;
  join.waits_for = std::string(10'000, '"');
  join.contributes.assign(kMostKeys, std::string(kMostKeyBytes, 'k'));
  EXPECT_LE(encode(join).size(), kMostJoinBytes);
  EXPECT_EQ(std::get<Join>(*decode(encode(join))).job, sent) << "whatever else there is to send";
}

TEST(Messages, AreReadWithUnknownFields) {
  EXPECT_TRUE(decode(R"({"type": "beat", "colour": {"red": [1, 2]}})"));
}

TEST(Messages, AreReadWithEmptyOptionalFields) {
  const auto ended = decode(R"({"type": "ended", "attempt": 0, "failure": null, "gave_up": false})");
  ASSERT_TRUE(ended);
  EXPECT_FALSE(std::get<AttemptOver>(*ended).failure);
}

TEST(Messages, NameInvalidMessages) {
  EXPECT_EQ(error_of(""), "no JSON: incomplete JSON");
  EXPECT_EQ(error_of("[1]"), "no JSON object");
  EXPECT_EQ(error_of("{}"), "'type' is missing, expected the name of a message");
  EXPECT_EQ(error_of(R"({"type": "execute"})"),
            R"('type' is "execute", expected the name of a message such as "join")");
  EXPECT_NE(error_of(R"({"type": "beat"} x)"), "it was read");
  EXPECT_NE(error_of("{\"type\": \"beat\", \"x\": \"\xFF\"}"), "it was read");
}

TEST(Messages, RefuseDeepNesting) {
  const std::string deep = std::string(1'000, '[') + std::string(1'000, ']');
  EXPECT_NE(error_of(R"({"type": "beat", "x": )" + deep + "}"), "it was read");
}

TEST(Messages, SayWhichFieldIsWrongAndWhatWasExpected) {
  EXPECT_EQ(error_of(R"({"type": "stop_asked"})"), "in 'stop_asked' 'signal' is missing");
  EXPECT_EQ(error_of(with(StopFromAgent{15}, "/signal", 65)),
            "in 'stop_asked' 'signal' is 65, expected a number from 1 to 64");
  EXPECT_EQ(error_of(with(StopFromAgent{15}, "/signal", "15")),
            "in 'stop_asked' 'signal' is \"15\", expected a number from 1 to 64");
  EXPECT_EQ(error_of(with(Finish{some_end()}, "/end/first_failure/node", -1)),
            "in 'finish' 'end.first_failure.node' is -1, expected a number from 0 to 1000000");
  EXPECT_EQ(error_of(with(Finish{some_end()}, "/end/verdict", "won")),
            "in 'finish' 'end.verdict' is \"won\", expected a verdict such as \"failed\"");
  EXPECT_EQ(error_of(with(Finish{some_end()}, "/end/kind", end_table().size())),
            "in 'finish' 'end.kind' is 15, expected a number from 0 to 14");
  EXPECT_EQ(error_of(with(Finish{some_end()}, "/end/gang/slowest/1/host", 1)),
            "in 'finish' 'end.gang.slowest[1].host' is 1, expected a text of at most 255 bytes");
  EXPECT_EQ(error_of(with(AttemptOver{0, {}, true}, "/made_progress", 1)),
            "in 'ended' 'made_progress' is 1, expected true or false");
  EXPECT_EQ(error_of(with(Failed{}, "/failure", json::array{})),
            "in 'failed' 'failure' is a list or object, expected an object");
}

TEST(Messages, RefuseValuesOutOfRange) {
  const Message start = some_start();
  const Message join = some_join();
  const Message listening = full_join();
  const Message end = Finish{some_end()};
  const std::vector<std::string> wrong = {
      with(start, "/placement/worker_port", 65'536),
      with(start, "/placement/worker_port", -1),
      with(start, "/placement/attempt", -1),
      with(start, "/placement/attempt", 1.0),
      with(start, "/placement/attempt", std::numeric_limits<std::uint64_t>::max()),
      with(start, "/placement/nodes", 0),
      with(start, "/orphan_limit_seconds", -0.5),
      with(start, "/orphan_limit_seconds", 1e300),
      with(start, "/orphan_limit_seconds", "1"),
      with(start, "/placement/master_address", json::string(256, 'x')),
      with(start, "/placement/master_address", "two\nlines"),
      with(join, "/node/rank", 1'000'001),
      with(join, "/incarnation", "0123456789ABCDE"),
      with(join, "/incarnation", "0123456789abcdeg"),
      with(join, "/job/least_nodes", 5),
      with(join, "/node/host", "\x1B[2J"),
      with(listening, "/contributes/0", json::string(65, 'k')),
      with(listening, "/contributes/0", 1),
      with(listening, "/contributes", json::array(kMostKeys + 1, "k")),
      with(listening, "/contributes", "ports"),
      with(listening, "/job/total_slots", -1),
      with(listening, "/job/roles/0/count", -1),
      with(listening, "/job/endpoints/0/endpoints", "a:2222"),
      with(listening, "/job/success_roles", json::array(65, "x")),
      with(listening, "/waits_for", "a\nb"),
      with(end, "/end/exit_code", 256),
      with(end, "/end/stop_signal", 0),
      with(end, "/end/first_failure/status", json::object{}),
      with(end, "/end/first_failure/status", json::object{{"signal", 9}}),
      with(end, "/end/first_failure/status", json::object{{"code", -1}}),
      with(end, "/end/first_failure/status", 9),
      with(end, "/end/first_failure/last_lines", json::array(41, "x")),
      with(end, "/end/first_failure/last_lines", json::array{1}),
      with(end, "/end/gang/slowest", json::array(4, json::object())),
      with(end, "/end/gang/past_attempts", json::array(11, json::object())),
  };
  for (const std::string& text : wrong) {
    EXPECT_NE(error_of(text), "it was read") << text;
  }
}

TEST(Messages, AreValidUtf8WhateverTheTextsAre) {
  Failure failure = some_failure();
  failure.host = "\xFF\xFE";
  failure.last_lines = {"\x80", std::string("\0", 1)};
  const std::string text = encode(Failed{0, failure});
  EXPECT_EQ(valid_utf8(text), text);
  EXPECT_TRUE(decode(text));
}

TEST(Messages, EscapeTheControlCharactersOfAName) {
  const auto waiting = decode(encode(Waiting{"a\x1B[2J\nb"}));
  ASSERT_TRUE(waiting);
  EXPECT_EQ(std::get<Waiting>(*waiting).progress, "a\\x1b[2J\\nb");
}

TEST(Messages, AreShortenedToTheirLimits) {
  for (const std::string unit : {"x", "\xE2\x82\xAC", "\x01", "\xFF"}) {
    std::string huge;
    while (huge.size() < 100'000) {
      huge += unit;
    }
    Failure failure = some_failure();
    failure.host = failure.role = failure.start_error = failure.error_message = huge;
    failure.last_lines.assign(100, huge);
    JobEnd end = some_end();
    end.first_failure = failure;
    end.reason = huge;
    end.gang.slowest.assign(100, {{0}, huge, 0});
    end.gang.past_attempts.assign(100, {0, huge, false, {}, std::vector(100, huge)});
    Join join = some_join();
    join.job.job_id = join.job.mode = join.version = join.node.host = huge;
    for (const Message& message : {Message(join), Message(Stop{0, 15, huge, end})}) {
      const std::string text = encode(message);
      const bool is_join = std::holds_alternative<Join>(message);
      EXPECT_LE(text.size(), is_join ? kMostJoinBytes : kMostMessageBytes);
      EXPECT_TRUE(decode(text)) << decode(text).error().message;
    }
  }
}

TEST(Messages, KeepTheLastLinesAndTheLastAttempts) {
  JobEnd end = some_end();
  end.first_failure->last_lines.clear();
  end.gang.past_attempts.clear();
  for (int i = 0; i < 100; ++i) {
    end.first_failure->last_lines.push_back("line " + std::to_string(i));
    end.gang.past_attempts.push_back({i, "worker failed"});
  }
  const auto finish = std::get<Finish>(*decode(encode(Finish{end})));
  EXPECT_EQ(finish.end.first_failure->last_lines.size(), 40U);
  EXPECT_EQ(finish.end.first_failure->last_lines.back(), "line 99");
  EXPECT_EQ(finish.end.gang.past_attempts.front().attempt, 90);
}

TEST(Messages, AreNeverSoOddThatTheOtherSideRefusesThem) {
  Start start;
  start.orphan_limit_seconds = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(decode(encode(start)));
  start.orphan_limit_seconds = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(decode(encode(start)));
  Failure failure;
  failure.exit_code = 1'000;
  failure.run_time_seconds = -1;
  EXPECT_TRUE(decode(encode(Failed{-1, failure})));
}

}  // namespace
}  // namespace muster::gang
