#pragma once

// The link from mpirun's remote shell to the daemon on another node: who connects shows that it knows the job's
// secret, has one command run, and sees the end of the link when that has ended.

#include "base/file_io.hpp"
#include "base/result.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// Until when a peer may take its time.
class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds patience) : end_(std::chrono::steady_clock::now() + patience) {}

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
/// At most so many: those that are there, which may be none. Fails at the end of the link.
[[nodiscard]] Result<std::string> receive_some(int fd, std::size_t most);

/// The agent's half: what asks, and what has to be answered, for a command to run.
[[nodiscard]] Result<> ask_for_command(int fd, std::string_view secret, std::string_view command,
                                       const Deadline& deadline);

/// The daemon's half: puts together what somebody says, however it is cut.
class CommandReader {
 public:
  explicit CommandReader(std::string secret);

  /// What is sent first: 32 digits that are used this once.
  [[nodiscard]] const std::string& digits() const { return digits_; }
  /// So many bytes may be read before something has to be decided.
  [[nodiscard]] std::size_t missing() const;
  /// True: the command is here. Fails for who does not know the secret.
  [[nodiscard]] Result<bool> feed(std::string_view bytes);
  [[nodiscard]] std::string command() const;
  /// Tells the other side that the command is run now, by somebody who knows the secret.
  [[nodiscard]] std::string answer() const;

 private:
  std::string secret_;
  std::string digits_;
  std::string bytes_;
  std::optional<std::size_t> length_;  ///< of the command
};

// Where a daemon waits for mpirun's remote shell: many may come, and only who knows the job's secret is obeyed.
//

struct CommandRequest {
  UniqueFd link;  ///< which ends when the command has ended
  std::string command;
};

/// The first command of somebody who knows the secret, and who has been told that it runs. Whoever connects is heard
/// while others take their time, which is ten seconds. Fails where nobody can come in.
[[nodiscard]] Result<CommandRequest> wait_for_command(const UniqueFd& listener, const std::string& secret);

}  // namespace muster
