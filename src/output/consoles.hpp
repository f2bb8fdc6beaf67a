#pragma once

// Standard output and standard error of muster, for its whole life. Private to run/.

#include "process/asides.hpp"
#include "output/output_queue.hpp"

#include "remote/terminals.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace muster {

/// Both consoles. While it lives, muster's own messages go through the one for errors, so that they
/// tear no line.
class Consoles {
 public:
  Consoles(boost::asio::io_context& io, HelperProcesses& helpers, std::chrono::milliseconds stall);
  ~Consoles();
  Consoles(const Consoles&) = delete;
  Consoles& operator=(const Consoles&) = delete;

  /// Called when a console takes bytes again, or never will.
  std::function<void()> on_writable;

  [[nodiscard]] OutputQueue& error() { return *error_; }
  /// The same object as `error()` when both streams are the same file.
  [[nodiscard]] OutputQueue& out() { return out_ ? *out_ : *error_; }

  /// That of a stream: 2 for both where they are the same file.
  [[nodiscard]] int descriptor(bool is_error) const;

  /// They are shown on these terminals of a front's, among lines that begin with the name of a host.
  void watch_terminals_of_front(const Terminals& terminals);

  /// True when every console has taken all that it will; else `next` is called later.
  [[nodiscard]] bool are_settled(const std::function<void()>& next);

  /// Both, or the one that both are.
  [[nodiscard]] std::vector<OutputQueue*> all() const;

  /// Waits for no console any more: what they have not taken is dropped and counted.
  void discard();
  /// The file system of this one is not waited for any longer.
  void give_up(OutputQueue& console);
  /// One sentence for each that has dropped lines and has not said so. To be called at the end.
  [[nodiscard]] std::vector<std::string> describe_losses();

 private:
  void watch_terminals();
  void pass_writable_on() const;
  void note_loss(const OutputQueue& console, std::uint64_t lines);

  boost::asio::io_context& io_;
  std::unique_ptr<OutputQueue> error_;
  std::unique_ptr<OutputQueue> out_;
  std::vector<std::string> losses_;  ///< of abandoned consoles
};

}  // namespace muster
