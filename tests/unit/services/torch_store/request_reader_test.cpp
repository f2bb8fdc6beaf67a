// Bytes, in whatever pieces, to requests; what is wrong, and what is too long.
#include "services/torch_store/request_reader.hpp"

#include "services/torch_store/wire.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace muster::store {
namespace {

/// A request as a line, such as "set /a 1".
std::string shown(const Request& request) {
  static const std::map<Operation, std::string> kNames = {{Operation::Ping, "ping"},
                                                          {Operation::WatchKey, "watch"},
                                                          {Operation::Set, "set"},
                                                          {Operation::CompareSet, "compare"},
                                                          {Operation::Get, "get"},
                                                          {Operation::Add, "add"},
                                                          {Operation::Check, "check"},
                                                          {Operation::Wait, "wait"},
                                                          {Operation::CountKeys, "count"},
                                                          {Operation::DeleteKey, "delete"},
                                                          {Operation::Append, "append"},
                                                          {Operation::MultiGet, "multi-get"},
                                                          {Operation::MultiSet, "multi-set"},
                                                          {Operation::CancelWait, "cancel"},
                                                          {Operation::QueuePush, "push"},
                                                          {Operation::QueuePop, "pop"},
                                                          {Operation::QueueLength, "length"},
                                                          {Operation::ListKeys, "list"},
                                                          {Operation::Barrier, "barrier"}};
  std::string line = kNames.at(request.operation);
  for (std::size_t i = 0; i < request.texts.size(); ++i) {
    line += (request.operation == Operation::MultiSet && i % 2 == 1 ? "=" : " ") + request.texts[i];
  }
  const bool has_number = request.operation == Operation::Ping || request.operation == Operation::Add ||
                          request.operation == Operation::Barrier;
  return line + (has_number ? " " + std::to_string(request.number) : "");
}

/// Feeds a reader in pieces of `step` bytes and keeps its requests as lines; "! ..." is an error, and the last line.
/// The client is a rank by default.
class Read {
 public:
  explicit Read(DialectWithoutGreeting& ungreeted, Limits limits = {}, bool is_rank = true)
      : limits_(limits), reader_(limits_, ungreeted) {
    if (is_rank) {
      reader_.settle_for_all();
    }
  }

  Read& feed(std::string_view bytes, std::size_t step = 1) {
    for (std::size_t i = 0; i < bytes.size(); i += step) {
      std::string_view piece = bytes.substr(i, step);
      bool is_open = true;
      while (is_open) {
        is_open = take(piece);
      }
      EXPECT_TRUE(piece.empty() || failed_);
    }
    return *this;
  }
  Read& silence() {
    if (const auto request = reader_.on_silence()) {
      lines_.push_back(shown(*request));
    }
    return *this;
  }
  bool awaits_silence() const { return reader_.awaits_silence(); }
  std::size_t held() const { return reader_.held(); }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  bool take(std::string_view& piece) {
    auto request = failed_ ? Result<std::optional<Request>>(std::optional<Request>()) : reader_.next(piece);
    if (!request) {
      failed_ = true;
      lines_.push_back("! " + request.error().message);
      return false;
    }
    if (*request) {
      lines_.push_back(shown(**request));
    }
    return request->has_value();
  }

  Limits limits_;
  RequestReader reader_;
  std::vector<std::string> lines_;
  bool failed_ = false;
};

using Lines = std::vector<std::string>;

Lines read(std::string_view bytes, std::size_t step = 1, Limits limits = {}) {
  DialectWithoutGreeting ungreeted;
  return Read(ungreeted, limits).feed(bytes, step).lines();
}

struct Said {
  std::string bytes;
  std::string meaning;
};

const std::vector<Said> kGreeted = {
    {wire::ping(4711), "ping 4711"},
    {wire::set("/a", "1"), "set /a 1"},
    {wire::set("", ""), "set  "},
    {wire::compare_set("/a", "1", "2"), "compare /a 1 2"},
    {wire::get("/a"), "get /a"},
    {wire::add("/a", -7), "add /a -7"},
    {wire::check({"/a", "/b"}), "check /a /b"},
    {wire::check({}), "check"},
    {wire::wait({"/a", "", "/a"}), "wait /a  /a"},
    {wire::count_keys(), "count"},
    {wire::delete_key("/a"), "delete /a"},
    {wire::append("/a", "23"), "append /a 23"},
    {wire::multi_get({"/a", "/b"}), "multi-get /a /b"},
    {wire::multi_set({"/a", "1", "/b", ""}), "multi-set /a=1 /b="},
    {wire::multi_set({}), "multi-set"},
    {wire::cancel_wait(), "cancel"},
    {wire::push("/q", "x"), "push /q x"},
    {wire::pop("/q"), "pop /q"},
    {wire::queue_length("/q"), "length /q"},
    {wire::list_keys(), "list"},
    {wire::barrier("/b", 4), "barrier /b 4"},
};

TEST(RequestReader, ReadsEveryOperationInAnyPieces) {
  std::string bytes = wire::kGreeting;
  Lines meanings;
  for (const Said& said : kGreeted) {
    EXPECT_EQ(read(wire::kGreeting + said.bytes), Lines{said.meaning});
    bytes += said.bytes;
    meanings.push_back(said.meaning);
  }
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    EXPECT_EQ(read(bytes, step), meanings) << step;
  }
}

TEST(RequestReader, GivesARequestOnlyWhenItIsWhole) {
  for (const Said& said : kGreeted) {
    const std::string bytes = wire::kGreeting + said.bytes;
    EXPECT_EQ(read(std::string_view(bytes).substr(0, bytes.size() - 1)), Lines{}) << said.meaning;
  }
}

/// The operations that 1.13, 2.0 and 2.1 number alike.
const std::vector<Said> kUngreeted = {
    {wire::u8(0) + wire::text("/a") + wire::text("1"), "set /a 1"},
    {wire::u8(1) + wire::text("/a") + wire::text("1") + wire::text("2"), "compare /a 1 2"},
    {wire::u8(2) + wire::text("/a"), "get /a"},
    {wire::u8(3) + wire::text("init/") + wire::i64(1), "add init/ 1"},
    {wire::u8(4) + wire::texts({"/a"}), "check /a"},
    {wire::u8(5) + wire::texts({"/a"}), "wait /a"},
    {wire::u8(6), "count"},
};

TEST(RequestReader, ReadsClientsThatDoNotGreet) {
  for (const Said& said : kUngreeted) {
    for (std::size_t step = 1; step <= said.bytes.size(); ++step) {
      EXPECT_EQ(read(said.bytes, step), Lines{said.meaning}) << step;
    }
  }
}

TEST(RequestReader, TakesAnEmptyKeyWithoutAGreetingForWhatItIs) {
  EXPECT_EQ(read(wire::u8(0) + wire::text("") + wire::text("1")), Lines{"set  1"});
}

const std::string kTorch21Append = wire::u8(8) + wire::text("/a") + wire::text("1");
const std::string kTorch20Delete = wire::u8(8) + wire::text("/a");
const std::string kCode7 = wire::u8(7) + wire::text("/a");
const std::string kCount = wire::u8(6);

TEST(RequestReader, KnowsTorch21ByItsNumbers) {
  const std::vector<Said> cases = {
      {wire::u8(9) + wire::texts({"/a"}), "multi-get /a"},
      {wire::u8(10) + wire::u64(1) + wire::text("/a") + wire::text("1"), "multi-set /a=1"},
      {wire::u8(11), "cancel"},
      {kTorch21Append, "append /a 1"},
  };
  for (const Said& said : cases) {
    for (std::size_t step = 1; step <= said.bytes.size(); ++step) {
      DialectWithoutGreeting ungreeted;
      EXPECT_EQ(Read(ungreeted).feed(said.bytes, step).lines(), Lines{said.meaning});
      EXPECT_EQ(ungreeted.dialect(), Dialect::Torch21) << said.meaning;
    }
  }
}

TEST(RequestReader, TakesCode7ForADeletionUnlessItComesFirst) {
  DialectWithoutGreeting ungreeted;
  EXPECT_EQ(Read(ungreeted).feed(kCode7).lines(), Lines{"watch /a"});
  EXPECT_FALSE(ungreeted.dialect()) << "a client of 2.1 may begin with a deletion";

  EXPECT_EQ(Read(ungreeted).feed(kCount + kCode7).lines(), (Lines{"count", "delete /a"}));
  EXPECT_EQ(ungreeted.dialect(), Dialect::Torch21);
  EXPECT_EQ(Read(ungreeted).feed(kCode7).lines(), Lines{"delete /a"});
}

TEST(RequestReader, TakesCode8ForADeletionWhenNothingFollows) {
  DialectWithoutGreeting ungreeted;
  Read reader(ungreeted);
  reader.feed(kTorch20Delete);
  EXPECT_TRUE(reader.awaits_silence());
  EXPECT_EQ(reader.lines(), Lines{});

  reader.silence();

  EXPECT_FALSE(reader.awaits_silence());
  EXPECT_EQ(reader.lines(), Lines{"delete /a"});
  EXPECT_EQ(ungreeted.dialect(), Dialect::Torch20);
  EXPECT_EQ(Read(ungreeted).feed(kTorch20Delete + kCount).lines(), (Lines{"delete /a", "count"}));
  EXPECT_EQ(Read(ungreeted).feed(kCount + kCode7).lines(), (Lines{"count", "watch /a"}));
  EXPECT_EQ(Read(ungreeted).feed(wire::u8(9)).lines().at(0).substr(0, 2), "! ");
}

TEST(RequestReader, LetsAnotherClientDecideTheDialect) {
  DialectWithoutGreeting ungreeted;
  Read old(ungreeted);
  Read other(ungreeted);
  old.feed(kTorch20Delete);
  other.feed(kTorch20Delete).silence();
  EXPECT_EQ(old.silence().feed(kCount).lines(), (Lines{"delete /a", "count"}));
  EXPECT_EQ(other.feed(kCount).lines(), (Lines{"delete /a", "count"}));

  DialectWithoutGreeting newer;
  Read append(newer);
  append.feed(kTorch20Delete);
  Read(newer).feed(wire::u8(11));
  EXPECT_FALSE(append.awaits_silence());
  EXPECT_EQ(append.silence().feed(wire::text("1")).lines(), Lines{"append /a 1"});
}

TEST(RequestReader, LetsNoForeignClientDecideTheDialect) {
  for (const std::string& said : {wire::u8(11), kCount + wire::u8(11), kCount + kCode7}) {
    DialectWithoutGreeting ungreeted;
    Read stranger(ungreeted, {}, false);
    stranger.feed(said);
    EXPECT_FALSE(ungreeted.dialect());
    EXPECT_EQ(Read(ungreeted).feed(kTorch20Delete).silence().lines(), Lines{"delete /a"});
    EXPECT_EQ(stranger.feed(kCode7).lines().back(), "delete /a") << "it has said 2.1 for itself";
  }
}

TEST(RequestReader, LetsBytesFollowWhatAnotherHasSettledAsADeletion) {
  DialectWithoutGreeting ungreeted;
  Read reader(ungreeted);
  reader.feed(kTorch20Delete);
  ungreeted.settle(Dialect::Torch20);
  EXPECT_EQ(reader.feed(kCount).lines(), (Lines{"delete /a", "count"}));
}

TEST(RequestReader, IgnoresSilenceDuringOtherRequests) {
  DialectWithoutGreeting ungreeted;
  Read reader(ungreeted);
  reader.feed(wire::u8(2)).silence();
  EXPECT_EQ(reader.lines(), Lines{});
  EXPECT_FALSE(ungreeted.dialect());
}

TEST(RequestReader, LeavesGreetedClientsAlone) {
  DialectWithoutGreeting ungreeted;
  ungreeted.settle(Dialect::Torch20);
  EXPECT_EQ(Read(ungreeted).feed(wire::kGreeting + wire::get("/a")).lines(), Lines{"get /a"});
}

TEST(RequestReader, RefusesWhatNoClientSends) {
  const std::string unknown = "', expected one of torch's TCPStore, 1.13 to 2.14";
  EXPECT_EQ(read("GET / HTTP/1.1\r\n"), Lines{"! it sent the operation '71" + unknown});
  EXPECT_EQ(read("\x16\x03\x01"), Lines{"! it sent the operation '22" + unknown});
  EXPECT_EQ(read(wire::kGreeting + wire::u8(19)), Lines{"! it sent the operation '19" + unknown});
  EXPECT_EQ(read(wire::u8(12)), Lines{"! it sent the operation '12" + unknown});
  EXPECT_EQ(read(wire::kGreeting + wire::kGreeting), Lines{"! it sent the greeting a second time, expected it once"});
  EXPECT_EQ(read(std::string("\0\0\0\0\x01\0\0\0\0", 9)),
            Lines{"! it sent a key of '16777216' bytes, expected at most 8192"});
}

TEST(RequestReader, RefusesALengthBeforeItsBytes) {
  const std::string get = wire::kGreeting + wire::u8(3);
  const std::string set = wire::kGreeting + wire::u8(1) + wire::text("/a");
  const std::string wait = wire::kGreeting + wire::u8(6);
  EXPECT_EQ(read(get + wire::u64(8'192)), Lines{});
  EXPECT_EQ(read(get + wire::u64(8'193)), Lines{"! it sent a key of '8193' bytes, expected at most 8192"});
  EXPECT_EQ(read(get + wire::u64(~std::uint64_t{0})),
            Lines{"! it sent a key of '18446744073709551615' bytes, expected at most 8192"});
  EXPECT_EQ(read(set + wire::u64(8'388'608)), Lines{});
  EXPECT_EQ(read(set + wire::u64(8'388'609)), Lines{"! it sent a value of '8388609' bytes, expected at most 8388608"});
  EXPECT_EQ(read(wait + wire::u64(131'072)), Lines{});
  EXPECT_EQ(read(wait + wire::u64(131'073)), Lines{"! it sent '131073' keys in one request, expected at most 131072"});
}

TEST(RequestReader, RefusesARequestThatIsTooLongInAll) {
  Limits limits;
  limits.request = 100;
  const std::string wait = wire::kGreeting + wire::u8(6) + wire::u64(3) + wire::text(std::string(60, 'a'));
  EXPECT_EQ(read(wait + wire::u64(15), 1, limits), Lines{});
  EXPECT_EQ(read(wait + wire::u64(16), 1, limits),
            Lines{"! it sent a request of '101' bytes or more, expected at most 100"});
  const Lines two = {"get /a", "get /a"};
  limits.request = 11;
  EXPECT_EQ(read(wire::kGreeting + wire::get("/a") + wire::get("/a"), 1, limits), two) << "each counts for itself";
}

TEST(RequestReader, CountsTheBytesOfAnUnfinishedRequest) {
  DialectWithoutGreeting ungreeted;
  Read reader(ungreeted);
  const std::string bytes = wire::kGreeting + wire::set("/a", std::string(1'000, 'x'));
  reader.feed(std::string_view(bytes).substr(0, bytes.size() - 1));
  EXPECT_GT(reader.held(), 1'000U);
  EXPECT_LT(reader.held(), 1'200U);
  reader.feed("x");
  EXPECT_EQ(reader.held(), 0U);
}

}  // namespace
}  // namespace muster::store
