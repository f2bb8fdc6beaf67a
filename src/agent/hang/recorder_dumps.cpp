// Writes to the recorders' pipes, and reads the dumps as files of a stranger.
#include "agent/hang/recorder_dumps.hpp"

#include "agent/rank_folders.hpp"
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

std::string pipe_of(const std::string& folder, int rank) {
  return folder + "/fr_" + std::to_string(rank) + ".pipe";
}
std::string dump_of(const std::string& folder, int rank) {
  return folder + "/dump_" + std::to_string(rank);
}
/// Path of a dump that was there before any question: the rank wrote it by itself.
std::string own_dump(const std::string& folder, int rank) {
  return folder + "/own_" + std::to_string(rank);
}

/// Opens the pipe of a recorder that listens; empty: none does.
UniqueFd open_recorder(const std::string& folder, int rank) {
  UniqueFd pipe(::open(pipe_of(folder, rank).c_str(), O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  return pipe && ::fstat(pipe.get(), &status) == 0 && S_ISFIFO(status.st_mode) ? std::move(pipe) : UniqueFd();
}

/// A dump that was asked for. One that is not whole yet, or never will be, may take a second to read: so it is read
/// again only after a change, and after longer and longer pauses.
class AwaitedDump {
 public:
  AwaitedDump(int rank, const std::string& folder) : rank_(rank), folder_(folder) {}

  /// Reads it and moves it away. Empty: it is not there, or not whole yet.
  std::optional<hang::RankProgress> take() {
    constexpr std::size_t kMostDumpBytes = std::size_t{16} << 20U;
    constexpr std::chrono::milliseconds kFirstPause{40};
    const auto now = std::chrono::steady_clock::now();
    const std::string path = dump_of(folder_, rank_);
    struct stat status {};
    if (now < next_ || ::lstat(path.c_str(), &status) != 0 || status.st_size == 0 || !is_of_rank(status.st_uid)) {
      return {};
    }
    const State state{status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
    if (std::exchange(read_, state) == state) {
      return {};
    }
    pause_ = std::max(2 * pause_, kFirstPause);
    next_ = now + pause_;
    const auto limit = std::min(static_cast<std::size_t>(status.st_size), kMostDumpBytes);
    auto groups = hang::read_flight_recorder(read_rank_file(path, limit));
    if (!groups) {
      return {};
    }
    (void)::rename(path.c_str(), asked_dump_path(folder_, rank_).c_str());
    return hang::RankProgress{rank_, std::move(*groups)};
  }

 private:
  using State = std::tuple<ino_t, off_t, time_t, long>;

  /// True if we or the owner of the pipe own the file. Only the rank can have made the pipe: nobody else knew where.
  bool is_of_rank(uid_t owner) const {
    struct stat pipe {};
    const bool is_there = ::lstat(pipe_of(folder_, rank_).c_str(), &pipe) == 0;
    return owner == ::geteuid() || (is_there && owner == pipe.st_uid);
  }

  int rank_;
  std::string folder_;
  State read_{};  ///< the file as it was read last
  std::chrono::milliseconds pause_{0};
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace

std::vector<std::string> own_dump_paths(const std::string& folder, int rank) {
  return {own_dump(folder, rank), dump_of(folder, rank)};
}

std::string asked_dump_path(const std::string& folder, int rank) {
  return folder + "/asked_" + std::to_string(rank);
}

std::map<std::string, std::string> recorder_variables(const std::string& folder) {
  constexpr std::array kPipes{"TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "TORCH_HCCL_DEBUG_INFO_PIPE_FILE",
                              "TORCH_FR_DEBUG_INFO_PIPE_FILE"};
  constexpr std::array kDumps{"TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
                              "TORCH_HCCL_DEBUG_INFO_TEMP_FILE"};
  std::map<std::string, std::string> variables;
  if (folder.empty()) {
    return variables;
  }
  for (const char* const name : kPipes) {
    variables[name] = folder + "/fr_";
  }
  for (const char* const name : kDumps) {
    variables[name] = folder + "/dump_";
  }
  return variables;
}

std::vector<int> find_recorders(const control::NodeStatus& status, const RecorderFolders& folders) {
  std::vector<int> found;
  for (const control::WorkerStatus& worker : status.workers) {
    const auto folder = folders.find(worker.global_rank);
    if (folder != folders.end() && worker.pid > 0 && open_recorder(folder->second, worker.global_rank)) {
      found.push_back(worker.global_rank);
    }
  }
  return found;
}

std::vector<int> ask_recorders(std::vector<int> ranks, const RecorderFolders& folders) {
  std::erase_if(ranks, [&](int rank) {
    const std::string& folder = folders.at(rank);
    (void)::rename(dump_of(folder, rank).c_str(), own_dump(folder, rank).c_str());
    const UniqueFd pipe = open_recorder(folder, rank);
    return !pipe || ::write(pipe.get(), "d", 1) != 1;
  });
  return ranks;
}

std::vector<hang::RankProgress> read_dumps(const std::vector<int>& asked, const RecorderFolders& folders,
                                           std::chrono::steady_clock::time_point deadline) {
  constexpr int kPauseMs = 20;
  std::vector<hang::RankProgress> progress;
  const auto is_there = [&](AwaitedDump& dump) {
    auto taken = dump.take();
    if (taken) {
      progress.push_back(std::move(*taken));
    }
    return taken.has_value();
  };
  std::vector<AwaitedDump> dumps;
  dumps.reserve(asked.size());
  for (const int rank : asked) {
    dumps.emplace_back(rank, folders.at(rank));
  }
  std::erase_if(dumps, is_there);
  while (!dumps.empty() && std::chrono::steady_clock::now() < deadline) {
    (void)::poll(nullptr, 0, kPauseMs);
    std::erase_if(dumps, is_there);
  }
  return progress;
}

}  // namespace muster
