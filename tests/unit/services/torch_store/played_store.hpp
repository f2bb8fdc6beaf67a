#pragma once

// A store with clients that write and read at once, for tests.

#include "services/torch_store/store.hpp"
#include "services/torch_store/wire.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::store {

class PlayedStore {
 public:
  explicit PlayedStore(std::size_t workers = 4, const Limits& limits = {}) : store(workers, limits) {}

  /// A client that has not said anything.
  ClientId connect(const std::string& address = "10.0.0.1") {
    const ClientId client = next_++;
    store.on_opened(client, address);
    return client;
  }
  /// One from 2.2 on; with a pid, from 2.5 on.
  ClientId greet(std::optional<std::uint32_t> pid = std::nullopt, const std::string& address = "10.0.0.1") {
    const ClientId client = connect(address);
    EXPECT_EQ(say(client, wire::kGreeting), "");
    if (pid) {
      EXPECT_EQ(say(client, wire::ping(*pid)), wire::u32(*pid));
    }
    return client;
  }
  /// One that has called init_process_group.
  ClientId arrive(std::optional<std::uint32_t> pid, const std::string& address = "10.0.0.1") {
    const ClientId client = greet(pid, address);
    EXPECT_NE(say(client, wire::add("init/", 1)), "");
    return client;
  }
  /// Sends a request of the client and returns the answer.
  std::string say(ClientId client, std::string_view bytes) {
    const auto taken = store.on_bytes(client, bytes);
    EXPECT_TRUE(taken) << taken.error().message;
    return heard(client);
  }
  /// Why the client is refused for it.
  std::string refusal(ClientId client, std::string_view bytes) {
    const auto taken = store.on_bytes(client, bytes);
    return taken ? "(it is not)" : taken.error().message;
  }
  std::string silence(ClientId client) {
    EXPECT_TRUE(store.on_silence(client));
    return heard(client);
  }
  void leave(ClientId client) { store.on_closed(client); }
  /// Closes all that give way; returns who they are, and why.
  std::vector<ClientId> close_who_gives_way(std::string* why = nullptr) {
    std::vector<ClientId> gone;
    while (const auto some = store.clients_to_close()) {
      for (const ClientId client : some->clients) {
        leave(client);
        gone.push_back(client);
      }
      if (why != nullptr) {
        *why = some->why.message;
      }
    }
    return gone;
  }

  /// Bytes that the client has been sent since the last call.
  std::string heard(ClientId client) {
    while (const auto answer = store.next_answer()) {
      unread_[answer->client] += answer->bytes;
      store.on_written(answer->client);
    }
    return std::exchange(unread_[client], "");
  }

  Store store;

 private:
  ClientId next_ = 1;
  std::map<ClientId, std::string> unread_;
};

}  // namespace muster::store
