#pragma once

// The connection from mpirun's remote shell (the agent) to the daemon on another node. The agent proves that it knows
// the job's secret and sends a command; the connection ends when that command has ended.

#include "base/file_io.hpp"
#include "base/frame.hpp"
#include "base/result.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

/// Time limit for a peer.
class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds timeout) : end_(std::chrono::steady_clock::now() + timeout) {}

  bool is_over() const { return left() == 0; }
  /// Milliseconds left, as poll() takes them.
  int left() const;

 private:
  std::chrono::steady_clock::time_point end_;
};

/// Connects to "address:port", and retries until a process listens there.
[[nodiscard]] Result<UniqueFd> connect_to(const std::string& endpoint, const Deadline& deadline);

/// Sends all bytes, or fails.
[[nodiscard]] Result<> send_all(int fd, std::string_view bytes, const Deadline& deadline);
/// Reads at most `most` of the available bytes, which may be none. Fails at the end of the connection.
[[nodiscard]] Result<std::string> receive_some(int fd, std::size_t most);

/// Agent side: sends a command with a proof, and waits for the daemon's proof.
[[nodiscard]] Result<> ask_for_command(int fd, std::string_view secret, std::string_view command,
                                       const Deadline& deadline);

/// Daemon side: parses the agent's message from bytes in any pieces.
class CommandReader {
 public:
  /// `digits`: 32 random digits, the challenge.
  CommandReader(std::string secret, std::string digits);

  /// The challenge that is sent first: 32 digits that are used only once.
  const std::string& digits() const { return digits_; }
  /// Bytes missing until the next part of the message is complete.
  std::size_t wanted() const { return frames_.wanted(); }
  /// True: the command is complete. Fails if the peer does not know the secret.
  [[nodiscard]] Result<bool> feed(std::string_view bytes);
  const std::string& command() const { return command_; }
  /// Tells the agent that the command starts now, and proves that the daemon knows the secret.
  std::string answer() const;

 private:
  std::string secret_;
  std::string digits_;
  FrameReader frames_;
  std::string command_;
};

// Accepts connections of mpirun's remote shell: many may come, and only one that knows the job's secret is obeyed.

struct CommandRequest {
  UniqueFd link;  ///< closed when the command has ended
  std::string command;
};

/// Returns the first command of a client that knows the secret, after telling the client that the command runs.
/// Clients are served concurrently and have ten seconds each. Fails if no client can be accepted. `listener` does not
/// block, as a client may be gone before it is accepted.
[[nodiscard]] Result<CommandRequest> wait_for_command(const UniqueFd& listener, const std::string& secret);

}  // namespace muster
