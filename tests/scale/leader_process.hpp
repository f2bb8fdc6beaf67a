#pragma once

// A real muster that leads a job, and what it costs.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace muster::scale {

/// CPU time and memory of all processes of the leader without its worker.
struct Costs {
  double cpu_seconds = 0;
  long rss_kilobytes = 0;
  long pss_kilobytes = 0;
  long peak_rss_kilobytes = 0;  ///< added up although they need not be at the same time
};

/// Killed when it is destroyed. Throws where it cannot be started or looked at: without a leader
/// nothing can be measured.
class LeaderProcess {
 public:
  /// Returns once somebody listens on `port`. Muster has a guard; a simulated leader has none.
  LeaderProcess(std::vector<std::string> command, std::uint16_t port, bool has_guard);
  ~LeaderProcess();
  LeaderProcess(const LeaderProcess&) = delete;
  LeaderProcess& operator=(const LeaderProcess&) = delete;

  Costs costs() const;

  /// Waits for its end and returns its exit code; 128 and the signal if it was killed.
  int wait();

 private:
  void wait_until_it_listens(std::uint16_t port);

  bool has_guard_;
  pid_t guard_ = -1;
  pid_t agent_ = -1;
};

/// The CPU time of this process.
double own_cpu_seconds();

/// Bytes of all connections of this process to that port, both ways, as the kernel counts them.
double bytes_on_the_wire(std::uint16_t port);

/// A port that nobody has and that the kernel gives to nobody: below the ephemeral ones.
std::uint16_t free_port();

}  // namespace muster::scale
