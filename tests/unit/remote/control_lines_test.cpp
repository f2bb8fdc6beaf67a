// Frames, orders and words: what is said arrives byte for byte, in whatever pieces.
#include "base/control_lines.hpp"

#include "remote/remote_agents.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

const std::string kTorture{"a b'c\"d\\e$f`g;h\ni\x1e\xff\x01 é", 24};

std::vector<Frame> read_all(const std::string& bytes, std::size_t step) {
  FrameReader reader(kMostFrameBytes);
  std::vector<Frame> frames;
  for (std::size_t i = 0; i < bytes.size(); i += step) {
    reader.feed(std::string_view(bytes).substr(i, step));
    while (auto frame = next_frame(reader).value()) {
      frames.push_back(*frame);
    }
  }
  return frames;
}

TEST(Frames, ArriveInWhateverPieces) {
  const std::vector<Frame> said = {{"signal", "SIGTERM"}, {"end"}, {"variable", kTorture}};
  std::string bytes;
  for (const Frame& frame : said) {
    bytes += write_frame(frame);
  }
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    EXPECT_EQ(read_all(bytes, step), said);
  }
}

TEST(Frames, AreRefusedWhenTheyAreNone) {
  for (const auto& [bytes, shown] : std::vector<std::pair<std::string, std::string>>{
           {"hello\n", "hello"},
           {"muster 5\n0.1.0host 1\na", "muster 5"},  // the frames of an older muster
           {muster::frame("signal"), "signal"},
           {muster::frame(" SIGTERM"), " SIGTERM"}}) {
    FrameReader reader(kMostFrameBytes);
    reader.feed(bytes);
    const auto read = next_frame(reader);
    ASSERT_FALSE(read) << bytes;
    EXPECT_EQ(read.error().message, "standard input says '" + shown + "', expected what the launcher of a job sends");
  }
}

TEST(Orders, ArriveByteForByte) {
  AgentOrder order;
  order.version = "0.1.0";
  order.host = "b";
  order.is_first = true;
  order.nonce = "n";
  order.working_directory = "/tmp/with blank";
  order.variables = {{"A", kTorture}, {"EMPTY", ""}, {"EQUALS", "a=b"}};
  order.line.settings.set("grace", {"3", from_flag("--grace")});
  order.line.settings.set("set:x", {kTorture, from_option("MUSTER_SET")});
  order.line.program = {"train.py", "", kTorture};
  order.line.worker_arguments = {"--local_rank={local_rank}"};
  order.line.is_python_script = true;
  AgentOrder read;
  bool is_whole = false;
  for (const Frame& frame : read_all(write_order(order), 5)) {
    is_whole = add_frame(read, frame).value();
  }
  ASSERT_TRUE(is_whole);
  EXPECT_EQ(read.variables, order.variables);
  EXPECT_EQ(read.working_directory, order.working_directory);
  EXPECT_EQ(read.line.program, order.line.program);
  EXPECT_EQ(read.line.worker_arguments, order.line.worker_arguments);
  EXPECT_TRUE(read.line.is_python_script && read.is_first);
  EXPECT_EQ(read.line.settings.find("grace"), order.line.settings.find("grace"));
  EXPECT_EQ(read.line.settings.find("set:x"), order.line.settings.find("set:x"));
}

TEST(Orders, RefuseWhatTheyHaveNot) {
  for (const Frame& frame : {Frame{"wish", "x"}, Frame{"setting", "x"}, Frame{"variable", "=x"}}) {
    AgentOrder read;
    EXPECT_FALSE(add_frame(read, frame)) << frame.kind;
  }
}

struct Filtered {
  std::string words;
  std::string rest;
};

Filtered filter(const std::string& bytes, std::size_t step) {
  Filtered filtered;
  ControlLineFilter filter("nonce");
  filter.on_control = [&](const std::string& kind, const std::string& text) {
    filtered.words += kind + "=" + text + ";";
  };
  for (std::size_t i = 0; i < bytes.size(); i += step) {
    filter.feed(std::string_view(bytes).substr(i, step), filtered.rest);
  }
  filter.finish(filtered.rest);
  return filtered;
}

TEST(Words, AreTakenOutAndNothingElse) {
  const std::string here = write_control("nonce", kHello, "0.1.0");
  const std::string strange = "\x1e\x1enonc\x1eother word\nlast \x1enonce";
  const std::string all = "before\npart" + here + kTorture + here + strange;
  for (std::size_t step = 1; step <= all.size(); ++step) {
    const Filtered filtered = filter(all, step);
    EXPECT_EQ(filtered.words, "here=0.1.0;here=0.1.0;") << step;
    EXPECT_EQ(filtered.rest, "before\npart" + kTorture + strange) << step;
  }
}

TEST(Words, AreLookedForInTimeThatGrowsWithTheBytes) {
  const std::string separators(std::size_t{8} << 20U, '\x1e');
  const Filtered filtered = filter(separators + write_control("nonce", kHello, "x") + separators, separators.size());
  EXPECT_EQ(filtered.words, "here=x;");
  EXPECT_EQ(filtered.rest.size(), 2 * separators.size());
}

TEST(Words, ThatNeverEndAreNotKept) {
  constexpr std::size_t kStep = std::size_t{1} << 16U;
  const std::string endless = "\x1enonce report " + std::string(kMostControlBytes + kStep, 'x') + "\nrest";
  const Filtered filtered = filter(endless + write_control("nonce", kHello, "x"), kStep);
  EXPECT_EQ(filtered.words, "here=x;");
  EXPECT_EQ(filtered.rest.size(), endless.size());
}

}  // namespace
}  // namespace muster
