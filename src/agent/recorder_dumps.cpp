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
#include <chrono>
#include <utility>

namespace muster {
namespace {

std::string pipe_of(const std::string& run_folder, int rank) {
  return run_folder + "/fr_" + std::to_string(rank) + ".pipe";
}
std::string dump_of(const std::string& run_folder, int rank) {
  return run_folder + "/dump_" + std::to_string(rank);
}

/// Asks for a dump, and removes an earlier one. False: there is no recorder that reads.
bool ask(const std::string& run_folder, int rank) {
  const UniqueFd pipe(::open(pipe_of(run_folder, rank).c_str(), O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!pipe || ::fstat(pipe.get(), &status) != 0 || !S_ISFIFO(status.st_mode)) {
    return false;
  }
  (void)::unlink(dump_of(run_folder, rank).c_str());
  return ::write(pipe.get(), "d", 1) == 1;
}

/// False: the dump is not there, or not whole yet.
bool read_dump(hang::RankEvidence& rank, const std::string& run_folder) {
  constexpr std::size_t kMostDumpBytes = std::size_t{16} << 20U;
  const std::string path = dump_of(run_folder, rank.rank);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || status.st_size == 0) {
    return false;
  }
  const auto limit = std::min(static_cast<std::size_t>(status.st_size), kMostDumpBytes);
  auto groups = hang::read_flight_recorder(read_untrusted_file(path, limit));
  if (!groups) {
    return false;
  }
  rank.groups = std::move(*groups);
  return true;
}

}  // namespace

std::map<std::string, std::string> recorder_variables(const std::string& run_folder,
                                                      const std::map<std::string, std::string>& inherited) {
  constexpr std::array kPipes{"TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "TORCH_HCCL_DEBUG_INFO_PIPE_FILE",
                              "TORCH_FR_DEBUG_INFO_PIPE_FILE"};
  constexpr std::array kDumps{"TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
                              "TORCH_HCCL_DEBUG_INFO_TEMP_FILE"};
  std::map<std::string, std::string> variables;
  for (const char* const name : kPipes) {
    variables[name] = run_folder + "/fr_";
  }
  for (const char* const name : kDumps) {
    variables[name] = run_folder + "/dump_";
  }
  variables["TORCH_INCLUDE_STACK_TRACE"] = "0";  // with stacks a dump waits for Python's lock, which a rank may hold
  const bool has_own =
      std::ranges::any_of(variables, [&](const auto& variable) { return inherited.contains(variable.first); });
  return has_own || run_folder.empty() ? std::map<std::string, std::string>() : variables;
}

void add_progress(std::vector<hang::RankEvidence>& ranks, const std::string& run_folder) {
  constexpr std::chrono::milliseconds kLongest{1'200};  // a recorder looks at its pipe once a second
  constexpr int kPauseMs = 20;
  const auto deadline = std::chrono::steady_clock::now() + kLongest;
  std::vector<hang::RankEvidence*> asked;
  for (hang::RankEvidence& rank : ranks) {
    if (rank.place.end.empty() && ask(run_folder, rank.rank)) {
      asked.push_back(&rank);
    }
  }
  while (!asked.empty() && std::chrono::steady_clock::now() < deadline) {
    (void)::poll(nullptr, 0, kPauseMs);
    std::erase_if(asked, [&](hang::RankEvidence* rank) { return read_dump(*rank, run_folder); });
  }
}

}  // namespace muster
