// Copies files that strangers may have made: opens them without following links or waiting, and writes with the rights
// of their owner.
#include "agent/evidence_keeper.hpp"

#include "agent/hang/recorder_dumps.hpp"
#include "agent/rank_folders.hpp"
#include "agent/run_folder.hpp"
#include "base/file_io.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

namespace muster {
namespace {

namespace fs = std::filesystem;
using Kind = EvidenceSource::Kind;

/// Limit of the files of one rank whose names are not known beforehand.
constexpr std::size_t kMostOtherFiles = 64;

constexpr std::chrono::milliseconds kEndTimeout{1'000};
constexpr std::chrono::seconds kCopyTimeout{15};

const char* name_of(Kind kind) {
  return kind == Kind::ErrorFile   ? "error file"
         : kind == Kind::AskedDump ? "answer of the flight recorder"
         : kind == Kind::Core      ? "core file"
         : kind == Kind::Other     ? "other file"
                                   : "flight recorder";
}

// --- Copying --------------------------------------------------------------------------------------

/// The owner of a file.
struct Owner {
  uid_t user = 0;
  gid_t group = 0;
};

/// Gives up all rights but the owner's, for good. Uses system calls: the C library's functions would wait for threads
/// that this copy of a process does not have.
bool become(const Owner& owner) {
  return ::syscall(SYS_setgroups, 0, nullptr) == 0 &&
         ::syscall(SYS_setresgid, owner.group, owner.group, owner.group) == 0 &&
         ::syscall(SYS_setresuid, owner.user, owner.user, owner.user) == 0;
}

/// A file to copy, open.
struct OpenSource {
  const EvidenceSource& source;
  UniqueFd file;
  struct stat status {};
  std::size_t room = 0;  ///< bytes that may still be copied of this rank
};

/// A folder that may take a copy. The copy gets another owner if that user may not write into the folder.
struct Target {
  std::string folder;
  bool is_made = false;             ///< the folder, if it is missing
  std::optional<Owner> given_to{};  ///< the copy
};

/// Encodes the answer of a helper process. An empty path: the remark says why; both empty: there is no file.
std::string describe_copy(const std::string& path, const std::string& remark) {
  return path + '\0' + remark + '\0';
}

/// Makes a file under a name that is free. Its path is in `path`; empty: errno has the reason.
UniqueFd create(const OpenSource& from, const std::string& folder, std::string& path) {
  constexpr int kMostCopies = 100;
  UniqueFd made;
  for (int copy = 1; !made && copy <= kMostCopies && (copy == 1 || errno == EEXIST); ++copy) {
    path = folder + "/" + name_evidence(from.source, copy);
    made = UniqueFd(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, from.status.st_mode & 0666U));
  }
  return made;
}

/// Returns the bytes that were copied; errno tells why they are fewer than wanted.
std::size_t copy_bytes(int from, int to, std::size_t wanted) {
  std::array<char, 65'536> buffer{};
  std::size_t copied = 0;
  errno = 0;
  while (copied < wanted) {
    const ssize_t count = ::read(from, buffer.data(), std::min(buffer.size(), wanted - copied));
    if (count <= 0) {
      break;
    }
    const auto written = write_all(to, {buffer.data(), static_cast<std::size_t>(count)});
    copied += static_cast<std::size_t>(count) - written.missing;
    if (written.missing > 0) {
      errno = written.error_number;
      break;
    }
  }
  return copied;
}

/// Copies the file, and returns its `describe_copy`. Empty: it cannot be made in this folder; errno has the reason.
std::string copy_to(const OpenSource& from, const Target& target) {
  std::error_code failed;
  if (target.is_made) {
    fs::create_directories(target.folder, failed);
  }
  const std::string folder = fs::absolute(target.folder, failed).string();
  std::string path;
  const UniqueFd to = create(from, failed ? target.folder : folder, path);
  if (!to) {
    return {};
  }
  if (target.given_to) {
    (void)::fchown(to.get(), target.given_to->user, target.given_to->group);
  }
  const auto size = static_cast<std::size_t>(from.status.st_size);
  const std::size_t copied = copy_bytes(from.file.get(), to.get(), std::min(size, from.room));
  const std::string why = errno != 0 ? ": " + std::generic_category().message(errno) : "";
  const std::string cut =
      copied < size ? "the first " + std::to_string(copied) + " of " + std::to_string(size) + " bytes" + why : "";
  return describe_copy(path, cut);
}

std::string copy_to_first(const OpenSource& from, const std::vector<Target>& targets) {
  for (const Target& target : targets) {
    if (auto done = copy_to(from, target); !done.empty()) {
      return done;
    }
  }
  return {};
}

/// True if nobody but us can put anything there.
bool is_ours_alone(const std::string& folder) {
  struct stat status {};
  return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && is_writable_by_alone(status, ::geteuid());
}

std::vector<Target> targets_of(const OpenSource& from, const EvidencePlaces& places) {
  if (!places.log_folder.empty()) {
    return {{places.log_folder, true}};
  }
  std::vector<Target> targets;
  const bool is_dump = from.source.kind == Kind::Dump || from.source.kind == Kind::AskedDump;
  if (is_dump && !places.dumps.empty()) {
    targets.push_back({places.dumps, true});
  }
  targets.push_back({places.temporary, false});
  return targets;
}

/// Copies the file as its owner. If the owner may not write there, muster copies it into the log folder, if nobody else may
/// write in that folder.
std::string copy_for_owner(const OpenSource& from, const EvidencePlaces& places) {
  const Owner owner{from.status.st_uid, from.status.st_gid};
  const std::vector<Target> targets = targets_of(from, places);
  if (owner.user == ::geteuid()) {
    return copy_to_first(from, targets);
  }
  const auto work = [&] { return become(owner) ? copy_to_first(from, targets) : std::string(); };
  std::string done =
      HelperTask::wait_for({.work = work, .most_time = kCopyTimeout, .kept = {from.file.get()}}).value_or("");
  if (done.empty() && !places.log_folder.empty() && is_ours_alone(places.log_folder)) {
    (void)::lseek(from.file.get(), 0, SEEK_SET);
    done = copy_to(from, {places.log_folder, false, owner});
  }
  errno = EACCES;  // errno of the helper process is not known
  return done;
}

/// Limits for the files of one rank: whose files are kept, and how many bytes may still be copied.
struct RankLimits {
  /// The user besides muster's whose files are kept, for a rank may have started its program by `su`. 0: not known
  /// yet; the owner of the first such file becomes this user.
  uid_t user = 0;
  std::size_t room = kMostEvidenceBytes;  ///< bytes that may still be copied
};

/// True if the file may be the rank's. Another user may have put files into the folders of root's ranks.
bool is_of_rank(uid_t owner, RankLimits& limits) {
  if (owner == ::geteuid() || ::geteuid() != 0) {
    return true;
  }
  limits.user = limits.user == 0 ? owner : limits.user;
  return owner == limits.user;
}

std::string copy_one(const EvidenceSource& source, const EvidencePlaces& places, RankLimits& limits) {
  OpenSource from{source, {}};
  from.file = open_rank_file(source.path, from.status);
  if (!from.file || from.status.st_size == 0) {
    return describe_copy("", "");
  }
  if (!is_of_rank(from.status.st_uid, limits)) {
    return describe_copy("", "it belongs to user " + std::to_string(from.status.st_uid) + ", who is not the rank's");
  }
  std::size_t& room = limits.room;
  if (source.kind == Kind::Core) {
    return describe_copy(source.path, "");
  }
  from.room = room;
  room -= std::min(room, static_cast<std::size_t>(from.status.st_size));
  if (from.room == 0) {
    return describe_copy("", "more than " + std::to_string(kMostEvidenceBytes) + " bytes of this rank");
  }
  std::string done = copy_for_owner(from, places);
  if (done.empty()) {
    return describe_copy("", "cannot be written: " + std::generic_category().message(errno));
  }
  if (source.kind != Kind::ErrorFile) {  // an error file stays: the report needs it
    (void)::unlink(source.path.c_str());
  }
  return done;
}

/// Lists files that a rank may have written into its folder: those of known names, then others up to a limit.
std::vector<EvidenceSource> sources_of(const EvidenceFolder& folder) {
  std::vector<EvidenceSource> sources;
  for (std::string& dump : own_dump_paths(folder.path, folder.rank.value)) {
    sources.push_back({Kind::Dump, folder.rank, folder.attempt, std::move(dump)});
  }
  sources.push_back({Kind::AskedDump, folder.rank, folder.attempt, asked_dump_path(folder.path, folder.rank.value)});
  if (folder.error_file.starts_with(folder.path + "/")) {  // elsewhere, it stays where it is
    sources.push_back({Kind::ErrorFile, folder.rank, folder.attempt, folder.error_file});
  }
  const std::size_t most = sources.size() + kMostOtherFiles;
  std::error_code failed;
  for (fs::directory_iterator entry(folder.path, failed), end; !failed && entry != end; entry.increment(failed)) {
    const std::string path = entry->path().string();
    const bool is_known = std::ranges::find(sources, path, &EvidenceSource::path) != sources.end();
    if (!is_known && sources.size() < most) {
      const Kind kind = is_core_file(entry->path().filename().string()) ? Kind::Core : Kind::Other;
      sources.push_back({kind, folder.rank, folder.attempt, path});
    }
  }
  return sources;
}

// --- Core files -----------------------------------------------------------------------------------

/// Finds a core file, or the program to which the kernel passed it. The result is a path and a remark.
std::string find_core(const EndedWithCore& core) {
  const std::string pattern(trim(read_untrusted_file("/proc/sys/kernel/core_pattern", 4'096)));
  if (pattern.starts_with('|')) {
    return describe_copy("", "the kernel gave it to " + pattern.substr(1, pattern.find(' ') - 1));
  }
  const bool adds_pid = trim(read_untrusted_file("/proc/sys/kernel/core_uses_pid", 16)) == "1";
  glob_t found{};
  std::string answer = describe_copy("", "");
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a helper process has one thread
  if (::glob(core_file_glob(pattern, adds_pid, core).c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    answer = describe_copy(found.gl_pathv[found.gl_pathc - 1], "");
  }
  ::globfree(&found);
  return answer;
}

/// Encodes rank, attempt and kind, which precede the fields of `describe_copy`.
std::string name_source(GlobalRank rank, int attempt, Kind kind) {
  return to_string(rank) + '\0' + std::to_string(attempt) + '\0' + name_of(kind) + '\0';
}

std::string copy_folder(const EvidenceFolder& folder, const EvidencePlaces& places) {
  std::string answer;
  RankLimits limits{folder.user};
  for (const EvidenceSource& source : sources_of(folder)) {
    answer += name_source(source.rank, source.attempt, source.kind) + copy_one(source, places, limits);
  }
  return answer;
}

int read_number(const std::string& text) {
  return parse_integer(text, 0, std::numeric_limits<int>::max()).value_or(0);
}

}  // namespace

std::string default_dump_folder(const std::map<std::string, std::string>& variables) {
  const std::string home = value_at(variables, "HOME");
  const std::string cache = value_at(variables, "XDG_CACHE_HOME");
  return !cache.empty() ? cache + "/torch" : home.empty() ? std::string() : home + "/.cache/torch";
}

std::string name_evidence(const EvidenceSource& source, int copy) {
  const std::string count = copy > 1 ? "_" + std::to_string(copy) : "";
  const std::string rank = "_rank_" + to_string(source.rank);
  switch (source.kind) {
    case Kind::Dump:
      return "comm_lib_trace" + count + rank;
    case Kind::AskedDump:
      return "comm_lib_trace_asked" + count + rank;
    case Kind::ErrorFile:
      return "torchelastic_error" + count + rank + ".json";
    case Kind::Core:
    case Kind::Other:
      break;
  }
  return rank.substr(1) + count + "_" + fs::path(source.path).filename().string();
}

namespace {

/// The value of a conversion of core(5) in the name of a core file; "*" if it is not known here.
std::string value_of(char conversion, const EndedWithCore& core) {
  switch (conversion) {
    case 'p':
    case 'P':
      return std::to_string(core.pid);
    case 's':
      return std::to_string(core.signal);
    case '%':
      return "%";
    default:
      return "*";
  }
}

/// Escapes a character for glob(3).
std::string literal(char c) {
  const bool is_special = std::string_view("*?[\\").find(c) != std::string_view::npos;
  return is_special ? std::string{'\\', c} : std::string{c};
}

}  // namespace

std::string core_file_glob(const std::string& pattern, bool adds_pid, const EndedWithCore& core) {
  std::string path;
  bool has_pid = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c != '%' || i + 1 == pattern.size()) {
      path += literal(c);
      continue;
    }
    const char conversion = pattern[++i];
    has_pid = has_pid || conversion == 'p';
    path += value_of(conversion, core);
  }
  path += adds_pid && !has_pid ? "." + std::to_string(core.pid) : "";
  return path.starts_with('/') ? path : core.folder + "/" + path;
}

EvidenceKeeper::EvidenceKeeper(boost::asio::io_context& io, HelperProcesses& helpers, const RunContext& run)
    : run_(run), helper_task_(io, helpers) {}

namespace {

std::vector<EvidenceFolder> folders_of(const LaunchPlan& plan, const std::vector<uid_t>& users) {
  std::vector<EvidenceFolder> folders;
  for (std::size_t i = 0; i < plan.workers.size(); ++i) {
    const WorkerPlan& worker = plan.workers[i];
    if (!worker.own_folder.empty()) {
      folders.push_back({worker.global_rank, plan.placement.attempt, worker.own_folder, worker.error_file, users[i]});
    }
  }
  return folders;
}

std::vector<EndedWithCore> cores_of(const LaunchPlan& plan, const std::vector<WorkerResult>& workers) {
  std::vector<EndedWithCore> cores;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (const auto& status = workers[i].status; status && status->dumped_core()) {
      cores.push_back({workers[i].global_rank, plan.placement.attempt, workers[i].pid, *status->signal(),
                       plan.workers[i].working_directory});
    }
  }
  return cores;
}

}  // namespace

void EvidenceKeeper::end_attempt(const LaunchPlan& plan, const std::vector<WorkerResult>& workers,
                                 const std::vector<uid_t>& users, const std::string& log_folder) {
  if (std::exchange(last_attempt_, plan.placement.attempt) == plan.placement.attempt) {
    return;
  }
  Lot lot{folders_of(plan, users), cores_of(plan, workers), log_folder};
  if (log_folder.empty()) {
    waiting_.push_back(std::move(lot));
  } else {
    copy(std::move(lot));
  }
}

void EvidenceKeeper::copy(Lot lot) {
  const EvidencePlaces places{lot.log_folder, default_dump_folder(run_.variables), temporary_folder(run_.variables)};
  const auto work = [lot = std::move(lot), places] {
    std::string answer;
    for (const EvidenceFolder& folder : lot.folders) {
      answer += copy_folder(folder, places);
    }
    for (const EndedWithCore& core : lot.cores) {
      answer += name_source(core.rank, core.attempt, Kind::Core) + find_core(core);
    }
    return answer;
  };
  helper_task_.add({work, kCopyTimeout, [this](const HelperTask::Answer& answer) { note(answer); }});
}

void EvidenceKeeper::note(const HelperTask::Answer& answer) {
  if (!answer) {
    log_warning("what the workers have written about their end is not kept: a file system does not answer");
    return;
  }
  constexpr std::size_t kFields = 5;
  const std::vector<std::string> fields = split(*answer, '\0');
  for (std::size_t i = 0; i + kFields <= fields.size(); i += kFields) {
    KeptEvidence one{GlobalRank{read_number(fields[i])}, read_number(fields[i + 1]), fields[i + 2], fields[i + 3],
                     fields[i + 4]};
    if (!one.path.empty() || !one.remark.empty()) {
      kept_.push_back(std::move(one));
    }
  }
}

void EvidenceKeeper::end_job(Then then) {
  for (Lot& lot : std::exchange(waiting_, {})) {
    copy(std::move(lot));
  }
  helper_task_.add(
      {[] { return std::string(); }, kEndTimeout, [then = std::move(then)](const auto& /*answer*/) { then(); }});
}

}  // namespace muster
