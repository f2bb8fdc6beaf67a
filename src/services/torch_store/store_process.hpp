#pragma once

// The store's process, and its messages: it sends frames of JSON to the agent, and the agent sends it single bytes.

#include "base/file_io.hpp"
#include "base/frame.hpp"
#include "process/helper_process.hpp"
#include "process/timers.hpp"
#include "services/torch_store/store_main.hpp"
#include "services/torch_store/store_server.hpp"
#include "services/torch_store/waits.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace muster {

/// Requests of the agent: which ranks have arrived, and which clients wait for which keys.
constexpr char kWhoArrived = '?';
constexpr char kWhoWaits = 'w';

/// A message for the user.
struct StoreNotice {
  std::string text;
};
/// The store ends and serves no client any more.
struct StoreEnd {
  std::string why;
};
using StoreMessage = std::variant<StoreNotice, StoreEnd, StoreStatus, store::AwaitedKeys>;

/// The message as a frame.
std::string write_message(const StoreMessage& message);

/// Parses the payload of a frame. Fails with `BadData` for an invalid one.
[[nodiscard]] Result<StoreMessage> read_message(std::string_view payload);

// The process's end of the link to the agent.

/// Buffers messages that the agent has not read: the ranks never wait for the agent.
class AgentLink {
 public:
  /// `agent` is a stream, which the caller owns. `number` is its number in the poller.
  AgentLink(Poller& poller, int agent, std::uint64_t number);

  void send(const StoreMessage& message);
  /// Sends a message for the user. Only the first few are sent, as later ones are alike.
  void warn(const std::string& text);

  /// Handles poller events. Returns the agent's requests, each as a byte.
  std::string on_ready(std::uint32_t events);
  /// True: the agent is gone.
  bool is_over() const { return is_over_; }

 private:
  void write();

  Poller& poller_;
  int agent_;
  std::uint64_t number_;
  std::string unread_;
  int warnings_ = 0;
  bool is_over_ = false;
};

// The agent's end: holds the port from the beginning, and forks the store's process when the first client connects.

/// Serves in a process of its own, so that answers to thousands of ranks at once hold up only the store.
class StoreProcess final : public StoreServer {
 public:
  StoreProcess(boost::asio::io_context& io, HelperProcesses& helpers)
      : helpers_(helpers), listener_(io), stream_(io), later_(io), timeout_(io, kTimeout, [this] {
          report_waiting_ranks({});
        }) {}
  StoreProcess(const StoreProcess&) = delete;
  StoreProcess& operator=(const StoreProcess&) = delete;
  // NOLINTNEXTLINE(bugprone-exception-escape): without memory the job ends anyway
  ~StoreProcess() override {
    asked_.clear();
    end();
  }

  [[nodiscard]] Result<> listen(std::uint16_t port) override;
  void serve(StoreJob job, StoreEvents events) override;
  void request_status_after(std::chrono::seconds delay) override;
  void forget_events() override { events_ = {}; }

  /// Calls `then` later with the keys that clients wait for now. A request before a signal is answered with the state
  /// before that signal. If the process does not answer in time, or ends, the list is empty. False: no client has
  /// connected, and `then` is not called.
  bool request_waiting_ranks(std::function<void(const store::AwaitedKeys&)> then);
  bool is_asked_who_waits() const { return timeout_.is_pending(); }

  /// Frees the port, and kills the process.
  void end();

 private:
  using ErrorCode = boost::system::error_code;

  /// A turn in which 8,192 clients are answered takes less time.
  static constexpr std::chrono::milliseconds kTimeout{300};
  /// The longest message names all processes that have arrived.
  static constexpr std::size_t kMostMessageSize = std::size_t{256} << 20U;

  void on_first_client(const ErrorCode& error);
  [[nodiscard]] Result<> start_process();
  void read();
  void on_readable(const ErrorCode& error);
  [[nodiscard]] Result<> take_all();
  void take(const StoreMessage& message);
  void ask(char what);
  void report_waiting_ranks(const store::AwaitedKeys& awaited);
  void fail(const Error& why);

  HelperProcesses& helpers_;
  boost::asio::posix::stream_descriptor listener_;  ///< until the first client connects
  UniqueFd served_;                                 ///< after that, so that no further client wakes the agent
  boost::asio::posix::stream_descriptor stream_;    ///< to the process
  Timer later_;
  DelayedCall timeout_;  ///< time limit of a request for the waiting clients
  std::vector<std::function<void(const store::AwaitedKeys&)>> asked_;  ///< who the waiting clients are
  StoreJob job_;
  StoreEvents events_;
  FrameReader frames_{kMostMessageSize};
  std::optional<pid_t> pid_;
  CallbackScope scope_;
};

}  // namespace muster
