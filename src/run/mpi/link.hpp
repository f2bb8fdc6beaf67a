#pragma once

// The link from mpirun's remote shell to the daemon on another node: who connects shows that it knows the job's
// secret, has one command run, and sees the end of the link when that has ended. Private to run/.

#include <muster/base/result.hpp>
#include <muster/base/unique_fd.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

/// Until when a peer may take its time.
class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds patience)
      : end_(std::chrono::steady_clock::now() + patience) {}

  [[nodiscard]] bool is_over() const { return left() == 0; }
  /// Milliseconds, as poll() wants them.
  [[nodiscard]] int left() const;

 private:
  std::chrono::steady_clock::time_point end_;
};

/// Listens at that port of all addresses, beside who has reserved it.
[[nodiscard]] Result<UniqueFd> listen_at(std::uint16_t port);

/// Connects to "address:port"; again and again until somebody listens there.
[[nodiscard]] Result<UniqueFd> connect_to(const std::string& endpoint, const Deadline& deadline);

/// All bytes, or an error.
[[nodiscard]] Result<> send_all(int fd, std::string_view bytes, const Deadline& deadline);
[[nodiscard]] Result<std::string> receive(int fd, std::size_t count, const Deadline& deadline);

/// The agent's half: what asks, and what has to be answered, for a command to run.
[[nodiscard]] Result<> ask_for_command(int fd,
                                       std::string_view secret,
                                       std::string_view command,
                                       const Deadline& deadline);

/// The daemon's half: the command, which the agent has been told is run now. Fails for who does not know the
/// secret.
[[nodiscard]] Result<std::string> take_command(int fd,
                                               std::string_view secret,
                                               const Deadline& deadline);

}  // namespace muster
