#pragma once

// Standard output and standard error of muster, for its whole life. Private to run/.

#include "console.hpp"

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
  Consoles(boost::asio::io_context& io, std::chrono::milliseconds stall);
  ~Consoles();
  Consoles(const Consoles&) = delete;
  Consoles& operator=(const Consoles&) = delete;

  /// Called when a console takes bytes again, or never will.
  std::function<void()> on_relief;

  [[nodiscard]] Console& error() { return *error_; }
  /// The same object as `error()` when both streams are the same file.
  [[nodiscard]] Console& out() { return out_ ? *out_ : *error_; }

  /// True when every console has taken all that it will; else `next` is called later.
  [[nodiscard]] bool are_settled(const std::function<void()>& next);

  /// Waits for no console any more: what they have not taken is dropped and counted.
  void abandon();
  /// One sentence for each that has dropped lines and has not said so. To be called at the end.
  [[nodiscard]] std::vector<std::string> describe_losses();

 private:
  [[nodiscard]] std::vector<Console*> all() const;
  void watch_terminals();
  void pass_relief_on() const;
  void abandon(Console& console);

  boost::asio::io_context& io_;
  std::unique_ptr<Console> error_;
  std::unique_ptr<Console> out_;
  std::vector<std::string> losses_;  ///< of abandoned consoles
};

}  // namespace muster
