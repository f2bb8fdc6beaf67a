// Writes to the recorders' pipes, and reads the dumps as files of a stranger.
#include "agent/recorder_dumps.hpp"

#include "base/file_io.hpp"
#include "hang/flight_recorder.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <tuple>
#include <utility>

namespace muster {
namespace {

std::string pipe_of(const std::string& run_folder, int rank) {
  return run_folder + "/fr_" + std::to_string(rank) + ".pipe";
}
std::string dump_of(const std::string& run_folder, int rank) {
  return run_folder + "/dump_" + std::to_string(rank);
}
/// A dump that was there before a question, so that the rank wrote it by itself.
std::string own_dump(const std::string& run_folder, int rank) {
  return run_folder + "/own_" + std::to_string(rank);
}

/// The pipe of a recorder that reads; empty: there is none.
UniqueFd open_recorder(const std::string& run_folder, int rank) {
  UniqueFd pipe(::open(pipe_of(run_folder, rank).c_str(), O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  return pipe && ::fstat(pipe.get(), &status) == 0 && S_ISFIFO(status.st_mode) ? std::move(pipe) : UniqueFd();
}

/// A dump that is awaited. One that is not whole yet, or never will be, takes up to a second to read: it is read again only
/// after it has changed, and each time later.
class AwaitedDump {
 public:
  explicit AwaitedDump(int rank) : rank_(rank) {}

  [[nodiscard]] int rank() const { return rank_; }

  /// Empty: the dump is not there, or not whole yet.
  std::optional<std::vector<hang::GroupProgress>> read(const std::string& run_folder) {
    constexpr std::size_t kMostDumpBytes = std::size_t{16} << 20U;
    constexpr std::chrono::milliseconds kFirstPause{40};
    const auto now = std::chrono::steady_clock::now();
    const std::string path = dump_of(run_folder, rank_);
    struct stat status {};
    if (now < next_ || ::lstat(path.c_str(), &status) != 0 || status.st_size == 0) {
      return {};
    }
    const State state{status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
    if (std::exchange(read_, state) == state) {
      return {};
    }
    pause_ = std::max(2 * pause_, kFirstPause);
    next_ = now + pause_;
    const auto limit = std::min(static_cast<std::size_t>(status.st_size), kMostDumpBytes);
    auto groups = hang::read_flight_recorder(read_untrusted_file(path, limit));
    return groups ? std::optional(std::move(*groups)) : std::nullopt;
  }

 private:
  using State = std::tuple<ino_t, off_t, time_t, long>;

  int rank_;
  State read_{};  ///< the file as it was read last
  std::chrono::milliseconds pause_{0};
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace

std::vector<std::string> own_dumps(const std::string& run_folder, int rank) {
  return {own_dump(run_folder, rank), dump_of(run_folder, rank)};
}

std::string asked_dump(const std::string& run_folder, int rank) {
  return run_folder + "/asked_" + std::to_string(rank);
}

std::map<std::string, std::string> recorder_variables(const std::string& run_folder) {
  constexpr std::array kPipes{"TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "TORCH_HCCL_DEBUG_INFO_PIPE_FILE",
                              "TORCH_FR_DEBUG_INFO_PIPE_FILE"};
  constexpr std::array kDumps{"TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
                              "TORCH_HCCL_DEBUG_INFO_TEMP_FILE"};
  std::map<std::string, std::string> variables;
  if (run_folder.empty()) {
    return variables;
  }
  for (const char* const name : kPipes) {
    variables[name] = run_folder + "/fr_";
  }
  for (const char* const name : kDumps) {
    variables[name] = run_folder + "/dump_";
  }
  return variables;
}

std::vector<int> find_recorders(const control::NodeStatus& status, const std::string& run_folder) {
  std::vector<int> found;
  for (const control::WorkerStatus& worker : status.workers) {
    if (!run_folder.empty() && worker.pid > 0 && open_recorder(run_folder, worker.global_rank)) {
      found.push_back(worker.global_rank);
    }
  }
  return found;
}

std::vector<int> ask_recorders(std::vector<int> ranks, const std::string& run_folder) {
  std::erase_if(ranks, [&](int rank) {
    (void)::rename(dump_of(run_folder, rank).c_str(), own_dump(run_folder, rank).c_str());
    const UniqueFd pipe = open_recorder(run_folder, rank);
    return !pipe || ::write(pipe.get(), "d", 1) != 1;
  });
  return ranks;
}

std::vector<hang::RankProgress> read_dumps(const std::vector<int>& asked, const std::string& run_folder,
                                           std::chrono::steady_clock::time_point deadline) {
  constexpr int kPauseMs = 20;
  std::vector<hang::RankProgress> progress;
  const auto is_there = [&](AwaitedDump& dump) {
    auto groups = dump.read(run_folder);
    if (groups) {
      (void)::rename(dump_of(run_folder, dump.rank()).c_str(), asked_dump(run_folder, dump.rank()).c_str());
      progress.push_back({dump.rank(), std::move(*groups)});
    }
    return groups.has_value();
  };
  std::vector<AwaitedDump> dumps(asked.begin(), asked.end());
  std::erase_if(dumps, is_there);
  while (!dumps.empty() && std::chrono::steady_clock::now() < deadline) {
    (void)::poll(nullptr, 0, kPauseMs);
    std::erase_if(dumps, is_there);
  }
  return progress;
}

}  // namespace muster
