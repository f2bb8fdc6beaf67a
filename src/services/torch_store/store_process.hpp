#pragma once

// What the process of the store and the agent tell each other: it a line of JSON, the agent a byte.

#include "base/file_io.hpp"
#include "process/helper_process.hpp"
#include "process/timers.hpp"
#include "services/torch_store/store_main.hpp"
#include "services/torch_store/store_server.hpp"
#include "services/torch_store/waits.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace muster {

/// What the agent asks: who has arrived, who waits for which keys.
constexpr char kWhoArrived = '?';
constexpr char kWhoWaits = 'w';

/// For the user.
struct StoreNotice {
  std::string text;
};
/// It ends: nobody is served any more.
struct StoreEnd {
  std::string why;
};
using StoreMessage = std::variant<StoreNotice, StoreEnd, StoreStatus, store::AwaitedKeys>;

/// With its line end.
[[nodiscard]] std::string write_line(const StoreMessage& line);

/// Puts lines together, however they are cut.
class StoreMessageReader {
 public:
  /// Fails with `BadData` for what is none of these lines.
  [[nodiscard]] Result<std::vector<StoreMessage>> feed(std::string_view bytes);

 private:
  std::string rest_;
};

// The store's process's end of its link to the agent.

/// The ranks do not wait for an agent that reads nothing: what it has not read is kept.
class AgentLink {
 public:
  /// `agent` is a stream, and not ours. It is waited for by that number.
  AgentLink(Poller& poller, int agent, std::uint64_t number);

  void send(const StoreMessage& line);
  /// For the user: the first ones only, as others behave alike.
  void remark(const std::string& text);

  /// What was waited for has happened. What the agent asks, a byte each (store_lines.hpp).
  [[nodiscard]] std::string on_ready(std::uint32_t events);
  /// The agent is gone.
  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  void write();

  Poller& poller_;
  int agent_;
  std::uint64_t number_;
  std::string unread_;
  int remarks_ = 0;
  bool is_over_ = false;
};

// The agent's half of the store: it has the port from before the start on, and makes the process that serves it when the
// first client comes.

/// The process may take its time: thousands of ranks that are answered at once hold up nobody but it.
class StoreProcess final : public StoreServer {
 public:
  StoreProcess(boost::asio::io_context& io, HelperProcesses& helpers)
      : helpers_(helpers), listener_(io), stream_(io), later_(io), patience_(io, kPatience, [this] {
          report_waiting_ranks({});
        }) {}
  StoreProcess(const StoreProcess&) = delete;
  StoreProcess& operator=(const StoreProcess&) = delete;
  // NOLINTNEXTLINE(bugprone-exception-escape): without memory the job ends anyway
  ~StoreProcess() override { end(); }

  [[nodiscard]] Result<> listen(std::uint16_t port) override;
  void serve(StoreJob job, StoreEvents events) override;
  void request_later(std::chrono::seconds delay) override;
  void forget_events() override { events_ = {}; }

  /// Tells `on_awaited` which keys clients wait for now, later; nothing where nobody has connected. What is asked before a
  /// signal is told as it was then. A process that takes too long has told that nobody waits.
  void request_waiting_ranks();
  [[nodiscard]] bool is_asked_who_waits() const { return patience_.is_pending(); }
  std::function<void(const store::AwaitedKeys&)> on_awaited;

  /// The port is free from here on, and the process is killed.
  void end();

 private:
  using ErrorCode = boost::system::error_code;

  /// A turn in which 8,192 clients are answered takes less.
  static constexpr std::chrono::milliseconds kPatience{300};

  void on_first_client(const ErrorCode& error, std::uint64_t run);
  [[nodiscard]] Result<> start_process();
  void read();
  void on_bytes(const ErrorCode& error, std::size_t size);
  void take(const StoreMessage& line);
  void ask(char what);
  void report_waiting_ranks(const store::AwaitedKeys& awaited);
  void fail(const Error& why);

  HelperProcesses& helpers_;
  boost::asio::posix::stream_descriptor listener_;  ///< until the first client comes
  UniqueFd served_;                                 ///< then: no further client wakes us
  boost::asio::posix::stream_descriptor stream_;    ///< to the process
  boost::asio::steady_timer later_;
  DelayedCall patience_;  ///< with a process that has been asked who waits
  StoreJob job_;
  StoreEvents events_;
  StoreMessageReader lines_;
  std::optional<pid_t> pid_;
  std::uint64_t run_ = 0;  ///< what is over when something is cancelled is called all the same
  std::array<char, std::size_t{16} << 10U> buffer_{};
};

}  // namespace muster
