// Decides when files are read and listed, and tells about it.
#include "agent/read_ahead.hpp"

#include "agent/kept_files.hpp"
#include "agent/workers.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "process/descendants.hpp"
#include "standby/kept_imports.hpp"
#include "standby/standby_rules.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace muster {
namespace {

/// Limit for reading: a program may work for long before its first line, and need its memory then.
constexpr std::chrono::minutes kReadLimit{10};
/// Limit for listing thousands of files at the lowest priority.
constexpr std::chrono::minutes kListLimit{10};

}  // namespace

ReadAhead::ReadAhead(boost::asio::io_context& io, HelperProcesses& helpers, const RunContext& run)
    : run_(run), read_task_(io, helpers), keep_task_(io, helpers), keep_timer_(io) {}

/// The program, as its file is found; empty: no Python runs the program.
std::optional<ImportFiles::Of> ReadAhead::key_of(const WorkerPlan& first, const std::string& program) const {
  const auto python = standby::find_python_program(first.argv);
  if (!python) {
    log_debug("--read-ahead has no effect: '" + join(masked_arguments(first.argv), " ") +
              "' does not begin with Python");
    return std::nullopt;
  }
  const WorkerStart how{.executable = program, .output = {}, .connect = {}};
  return ImportFiles::of(*python, worker_request(first, {run_.variables, ""}, how));
}

void ReadAhead::begin_wait(const WorkerPlan& first, const std::string& program) {
  const auto of = key_of(first, program);
  auto counts = share_array<ReadAheadCounts>(1);
  const std::string path = of ? standby::kept_path(run_.variables, standby::kLibraryFiles, of->key) : "";
  if (path.empty() || !counts) {
    return;
  }
  counts_ = std::move(*counts);
  began_ = Clock::now();
  const auto work = [path, key = of->key, this] {
    if (is_helper_process()) {  // the agent itself has no time for it
      const std::string content = read_kept_file(path, 2 * kMostListBytes);
      read_library_files(standby::read_kept(standby::kLibraryFiles, content, key), run_.memory_group, counts_[0]);
    }
    return std::string();
  };
  read_task_.start({work, kReadLimit, [this](const HelperTask::Answer& /*answer*/) { end_reading(); }});
}

void ReadAhead::note_first_line(const WorkerPlan& first, const std::string& program, pid_t pid) {
  end_reading();
  if (is_kept_ || keep_timer_.is_pending()) {
    return;
  }
  if (const auto of = key_of(first, program)) {
    keep_timer_.start(run_.options.read_ahead.after, [this, of = *of, pid] { keep_list(of, pid); });
  }
}

void ReadAhead::keep_list(const ImportFiles::Of& of, pid_t pid) {
  const std::string path = standby::kept_path(run_.variables, standby::kLibraryFiles, of.key);
  const auto work = [path, key = of.key, pid, &marker = run_.marker] {
    const std::string list = is_helper_process() && has_marker(pid, marker) ? list_library_files(pid) : "";
    if (!list.empty()) {
      write_kept_file(path, standby::write_kept(standby::kLibraryFiles, key, list));
    }
    return std::to_string(std::ranges::count(list, '\n'));
  };
  const auto then = [](const HelperTask::Answer& files) {
    log_debug("read ahead: the next start can read " + files.value_or("0") + " files ahead");
  };
  is_kept_ = true;
  if (!path.empty()) {
    keep_task_.start({work, kListLimit, then});
  }
}

void ReadAhead::stop() {
  end_reading();
  keep_timer_.cancel();
  keep_task_.cancel();
}

/// Ends the reading, and logs once how much was read.
void ReadAhead::end_reading() {
  read_task_.cancel();
  const SharedArray<ReadAheadCounts> counts = std::move(counts_);
  if (!counts) {
    return;
  }
  if (counts[0].files == 0) {
    log_debug("read ahead: nothing");
    return;
  }
  const std::size_t files = counts[0].files;
  record({.kind = ledger::Kind::FilesReadAhead, .number = static_cast<std::int64_t>(files)});
  log_info("read ahead " + count_of(files, "file") + " (" + format_bytes(counts[0].bytes) + ") in " +
           format_seconds(std::chrono::duration<double>(Clock::now() - began_).count()) + " s" +
           (is_waiting_ ? " while waiting" : ""));
}

}  // namespace muster
