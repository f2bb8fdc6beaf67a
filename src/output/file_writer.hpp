#pragma once

// A file, as a device that never makes the agent wait: a process of its own writes it. Private to run/.

#include "process/asides.hpp"
#include "output/device.hpp"
#include "output/ring.hpp"
#include "output/writer_process.hpp"

#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <chrono>
#include <memory>
#include <optional>

namespace muster {

/// The agent's side. Bytes go through a ring; the process is woken when it sleeps, and tells of what it has
/// taken when it is asked. With nothing to write neither of the two wakes up.
class WriterProcess final : public ByteSink {
 public:
  /// `work` runs in the process, with `kept` as its only other descriptor if there is one.
  [[nodiscard]] static Result<std::unique_ptr<WriterProcess>> start(
      boost::asio::io_context& io,
      HelperProcesses& helpers,
      std::optional<int> kept,
      const std::function<void(const WriterChannel&)>& work);
  WriterProcess(const WriterProcess&) = delete;
  WriterProcess& operator=(const WriterProcess&) = delete;
  /// What is in the ring is written, if that takes no longer than a moment.
  ~WriterProcess() override;

  /// Called with everything that is more than progress.
  std::function<void(const WriterStatus&)> on_news;

  [[nodiscard]] ssize_t write_some(std::string_view bytes) override;
  void when_ready(std::function<void()> then) override;
  void catch_up() override { (void)take_all_news(); }
  [[nodiscard]] bool has_written_all() const override { return ring_.size() == 0; }
  [[nodiscard]] std::uint64_t progress() const override { return ring_.taken(); }
  [[nodiscard]] int failure() const override { return failure_; }
  [[nodiscard]] bool is_file() const override { return true; }
  void stop_waiting() override { waiting_ = {}; }
  std::uint64_t give_up() override;

 private:
  struct Parts {
    SharedRingBuffer ring;
    UniqueFd bell;
    UniqueFd news;
    pid_t pid;
  };
  WriterProcess(boost::asio::io_context& io, HelperProcesses& helpers, Parts parts);

  void listen();
  void read_news();
  bool take_all_news();
  void take(const WriterStatus& news);
  void call_soon();
  void call_who_waits();
  void end_process(std::chrono::milliseconds patience);

  boost::asio::io_context& io_;
  HelperProcesses& helpers_;
  SharedRingBuffer ring_;
  UniqueFd signal_notifier_;
  boost::asio::posix::stream_descriptor news_;
  pid_t pid_;
  std::function<void()> waiting_;
  int failure_ = 0;
  std::shared_ptr<bool> lives_ = std::make_shared<bool>(true);  ///< for what was posted
};

}  // namespace muster
