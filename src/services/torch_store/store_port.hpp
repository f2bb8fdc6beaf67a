#pragma once

// The agent's half of the store: it has the port from before the start on, and makes the process that serves it when the
// first client comes. Private to run/.

#include "process/asides.hpp"
#include "process/timers.hpp"
#include "services/torch_store/store_lines.hpp"

#include "base/unique_fd.hpp"
#include "services/torch_store/store_server.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace muster {

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
  StoreLineReader lines_;
  std::optional<pid_t> pid_;
  std::uint64_t run_ = 0;  ///< what is over when something is cancelled is called all the same
  std::array<char, std::size_t{16} << 10U> buffer_{};
};

}  // namespace muster
