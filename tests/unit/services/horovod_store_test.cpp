// Horovod's store: what its clients send and are answered, without a socket.
#include "services/horovod.hpp"

#include <gtest/gtest.h>

namespace muster::horovod {
namespace {

using Next = Store::Next;

/// As gloo's client writes it.
std::string request(const std::string& method, const std::string& path, const std::string& body = "") {
  return method + " " + path + " HTTP/1.1\r\nHost: 10.0.0.1\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

std::string found(const std::string& value) {
  return write_answer(Status::Ok, value);
}

const std::string kDone = write_answer(Status::Ok);
const std::string kMissing = write_answer(Status::NotFound);

/// The immediate answer to the client; "" while the answer is deferred.
std::string ask(Store& store, ClientId client, const std::string& bytes) {
  if (store.on_bytes(client, bytes) != Next::Reply) {
    return "";
  }
  const auto reply = store.take_reply();
  EXPECT_TRUE(reply && reply->client == client);
  return reply ? reply->bytes : "";
}

TEST(HorovodStore, KeepsAnyBytes) {
  Store store;
  const std::string value("a\0\r\n\r\n\xff", 7);
  EXPECT_EQ(ask(store, 1, request("PUT", "/global/0", value)), kDone);
  EXPECT_EQ(ask(store, 2, request("GET", "/global/0")), found(value));
  EXPECT_EQ(ask(store, 3, request("PUT", "/global/1", "")), kDone);
  EXPECT_EQ(ask(store, 4, request("GET", "/global/1")), found(""));
}

TEST(HorovodStore, ReadsARequestHoweverItIsTorn) {
  Store store;
  const std::string whole = request("PUT", "/local_a/0", "four");
  for (std::size_t i = 0; i + 1 < whole.size(); ++i) {
    ASSERT_EQ(store.on_bytes(7, whole.substr(i, 1)), Next::Read);
  }
  EXPECT_EQ(store.on_bytes(7, whole.substr(whole.size() - 1)), Next::Reply);
  EXPECT_EQ(store.take_reply()->bytes, kDone);
  EXPECT_EQ(ask(store, 8, request("GET", "/local_a/0")), found("four"));
}

TEST(HorovodStore, AnswersNotFoundWithALength) {
  Store store;
  EXPECT_EQ(ask(store, 1, request("GET", "/global/rank_0")),
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

TEST(HorovodStore, DefersAGetUntilTheRankArrives) {
  Store store;
  EXPECT_EQ(store.on_bytes(1, request("GET", "/global/3")), Next::Hold);
  EXPECT_EQ(store.on_bytes(2, request("GET", "/cross_0/3")), Next::Hold);
  EXPECT_FALSE(store.take_reply());

  EXPECT_EQ(ask(store, 3, request("PUT", "/global/3", "here")), kDone);
  const auto reply = store.take_reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->client, 1U);
  EXPECT_EQ(reply->bytes, found("here"));
  EXPECT_FALSE(store.take_reply()) << "the other scope has no such rank";

  store.on_deferred(1);
  EXPECT_FALSE(store.take_reply()) << "it has its answer";
  store.on_deferred(2);
  EXPECT_EQ(store.take_reply()->bytes, kMissing);
}

TEST(HorovodStore, ForgetsClosedClients) {
  Store store;
  EXPECT_EQ(store.on_bytes(1, request("GET", "/global/3")), Next::Hold);
  store.on_closed(1);
  EXPECT_EQ(store.on_bytes(2, "GET /glo"), Next::Read);
  store.on_closed(2);
  EXPECT_EQ(ask(store, 3, request("PUT", "/global/3", "here")), kDone);
  EXPECT_FALSE(store.take_reply());
}

TEST(HorovodStore, ForgetsAScopeWhenAllItsRanksAreDone) {
  Store store;
  for (const char* const rank : {"0", "1"}) {
    (void)ask(store, 1, request("PUT", std::string("/global/rank_") + rank, "host"));
    (void)ask(store, 1, request("PUT", std::string("/global/") + rank, "addresses"));
  }
  EXPECT_EQ(ask(store, 1, request("DELETE", "/global/0")), kDone);
  EXPECT_EQ(ask(store, 1, request("DELETE", "/global/0")), kDone) << "no second member";
  EXPECT_EQ(ask(store, 2, request("GET", "/global/0")), found("addresses"));
  EXPECT_GT(store.bytes(), 0U);

  EXPECT_EQ(ask(store, 1, request("DELETE", "/global/1")), kDone);
  EXPECT_EQ(ask(store, 2, request("GET", "/global/rank_0")), kMissing);
  EXPECT_EQ(store.bytes(), 0U);
}

TEST(HorovodStore, RemovesAKeyThatIsNoRank) {
  Store store;
  (void)ask(store, 1, request("PUT", "/mine/a", "x"));
  (void)ask(store, 1, request("PUT", "/mine/b", "y"));
  EXPECT_EQ(ask(store, 1, request("DELETE", "/mine/a")), kDone);
  EXPECT_EQ(ask(store, 1, request("GET", "/mine/a")), kMissing);
  EXPECT_EQ(ask(store, 1, request("GET", "/mine/b")), found("y"));
  EXPECT_EQ(ask(store, 1, request("DELETE", "/mine/b")), kDone);
  EXPECT_EQ(ask(store, 1, request("DELETE", "/nosuch/b")), kDone);
  EXPECT_EQ(store.bytes(), 0U);
}

TEST(HorovodStore, RefusesUnknownRequests) {
  Store store;
  const auto status = [&](const std::string& bytes) { return ask(store, 1, bytes).substr(9, 3); };
  EXPECT_EQ(status(request("GET", "/")), "400");
  EXPECT_EQ(status(request("GET", "/global")), "400");
  EXPECT_EQ(status(request("GET", "/global/")), "400");
  EXPECT_EQ(status(request("GET", "//0")), "400");
  EXPECT_EQ(status(request("GET", "/a/b/c")), "400");
  EXPECT_EQ(status(request("GET", "/a/" + std::string(600, 'b'))), "400");
  EXPECT_EQ(status(request("POST", "/global/0", "x")), "405");
  EXPECT_EQ(status("HELO there\r\n\r\n"), "400");
  EXPECT_EQ(status("PUT /a/b HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"), "413");
  EXPECT_EQ(status("GET /a/b HTTP/1.1\r\nX: " + std::string(9'000, 'x') + "\r\n\r\n"), "400");
}

TEST(HorovodStore, KeepsNoMoreThanItMay) {
  Store store(1'000);
  EXPECT_EQ(ask(store, 1, request("PUT", "/global/0", std::string(500, 'a'))), kDone);
  EXPECT_EQ(ask(store, 1, request("PUT", "/global/1", std::string(500, 'b'))).substr(9, 3), "507");
  EXPECT_EQ(ask(store, 1, request("PUT", "/global/0", std::string(700, 'c'))), kDone) << "it takes the old one's place";
  EXPECT_EQ(ask(store, 1, request("GET", "/global/0")), found(std::string(700, 'c')));
}

}  // namespace
}  // namespace muster::horovod
