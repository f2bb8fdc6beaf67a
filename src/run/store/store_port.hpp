#pragma once

// The agent's half of the store: it has the port from before the start on, and makes the process that serves it when the
// first client comes. Private to run/.

#include "../process/asides.hpp"
#include "store_lines.hpp"

#include <muster/base/unique_fd.hpp>
#include <muster/service/store_server.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

namespace muster {

/// The process may take its time: thousands of ranks that are answered at once hold up nobody but it.
class StorePort final : public StoreServer {
 public:
  StorePort(boost::asio::io_context& io, Asides& asides)
      : asides_(asides), listener_(io), stream_(io), later_(io) {}
  StorePort(const StorePort&) = delete;
  StorePort& operator=(const StorePort&) = delete;
  // NOLINTNEXTLINE(bugprone-exception-escape): without memory the job ends anyway
  ~StorePort() override { end(); }

  [[nodiscard]] Result<> listen(std::uint16_t port) override;
  void serve(StoreJob job, StoreEvents events) override;
  void ask_later(std::chrono::seconds delay) override;
  void forget_events() override { events_ = {}; }

  /// The port is free from here on, and the process is killed.
  void end();

 private:
  using ErrorCode = boost::system::error_code;

  void on_first_client(const ErrorCode& error, std::uint64_t run);
  [[nodiscard]] Result<> start_process();
  void read();
  void on_bytes(const ErrorCode& error, std::size_t size);
  void take(const StoreLine& line);
  void ask();
  void fail(const Error& why);

  Asides& asides_;
  boost::asio::posix::stream_descriptor listener_;  ///< until the first client comes
  UniqueFd served_;                                 ///< then: no further client wakes us
  boost::asio::posix::stream_descriptor stream_;    ///< to the process
  boost::asio::steady_timer later_;
  bool is_version_6_ = true;
  StoreJob job_;
  StoreEvents events_;
  StoreLineReader lines_;
  std::optional<pid_t> pid_;
  std::uint64_t run_ = 0;  ///< what is over when something is cancelled is called all the same
  std::array<char, std::size_t{16} << 10U> buffer_{};
};

}  // namespace muster
