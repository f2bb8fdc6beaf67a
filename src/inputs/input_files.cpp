// Finds the inputs of a job, reads them, and judges whether they are complete.
#include "inputs/input_files.hpp"

#include "base/file_io.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <map>
#include <sstream>

namespace muster {

std::string name_of(const Input& input) {
  constexpr std::size_t kMost = 1'024;
  return one_line(input.what + " '" + input.path, kMost) + "'";
}

namespace {

Pending pending(const Input& input, const std::string& reason) {
  return Pending{name_of(input) + ": " + reason};
}

/// Judges the errno of a failed read: ENOTSUP, EFBIG and ELOOP are final, other errors may pass.
Answer judge_error(const Input& input, int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return pending(input, "missing");
    case EISDIR:  // ready: the program that is given the directory knows which file in it to read
      return Ready{};
    case ENOTSUP:
    case EFBIG:
    case ELOOP:
      return Error{ErrorKind::BadData, system_error("cannot read the " + name_of(input), error_number).message};
    default:  // a network file system may recover
      return pending(input, system_error("cannot be read", error_number).message);
  }
}

/// The value of a field as text: a number or a word, as it is written.
std::string text_of(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

Answer judge_field(const Input& input, const std::string& content) {
  boost::system::error_code torn;
  const json::value document = json::parse(content, torn);
  if (torn) {
    return pending(input, "torn");
  }
  if (!document.is_object()) {
    return Error{ErrorKind::BadData, "the " + name_of(input) + " is no JSON object"};
  }
  const json::value* const value = document.get_object().if_contains(input.field);
  if (value == nullptr || text_of(*value) == input.wanted) {
    return Ready{};
  }
  return pending(input, one_line(text_of(*value), 60));
}

bool is_given(const std::string& text, const ChosenMode& chosen) {
  return std::all_of(chosen.parameters.begin(), chosen.parameters.end(),
                     [&](const auto& one) { return !one.second.value.empty() || !use_placeholder({text}, one.first); });
}

}  // namespace

std::vector<Input> find_inputs(const ChosenMode& chosen, const Cluster& cluster, const Snapshot& snapshot,
                               const JudgeTable& judge) {
  std::map<std::string, std::string> values = {{"host_name", snapshot.host_name}, {"job_id", cluster.job.job_id}};
  for (const auto& [name, parameter] : chosen.parameters) {
    values[name] = parameter.value;
  }
  std::vector<Input> inputs;
  for (const InputTemplate& wanted : chosen.mode.inputs) {
    if (is_given(wanted.file, chosen)) {
      inputs.push_back({fill_placeholders(wanted.what, values), fill_placeholders(wanted.file, values), wanted.field,
                        fill_placeholders(wanted.wanted, values), wanted.is_rank_table,
                        wanted.is_rank_table ? judge : JudgeTable()});
    }
  }
  return inputs;
}

Answer judge(const Input& input, FileContent found) {
  Input named = input;
  named.path = found.path.empty() ? input.path : found.path;
  if (found.error_number != 0) {
    return judge_error(named, found.error_number);
  }
  if (named.judge) {
    return named.judge(named, std::move(found));
  }
  if (found.content.empty()) {
    return pending(named, "empty");
  }
  return named.field.empty() || named.is_rank_table ? Answer(Ready{}) : judge_field(named, found.content);
}

Answer poll(const std::vector<Input>& inputs, const Snapshot* snapshot) {
  std::vector<std::string> reasons;
  Ready here;
  for (const Input& input : inputs) {
    Answer answer = judge(input, snapshot != nullptr ? read_input_file(input, *snapshot) : read_input_file(input));
    if (std::holds_alternative<Error>(answer)) {
      return answer;
    }
    if (auto* const missing = std::get_if<Pending>(&answer)) {
      reasons.push_back(std::move(missing->reason));
    } else if (auto& table = std::get<Ready>(answer).table) {
      here.table = std::move(table);
    }
  }
  return reasons.empty() ? Answer(std::move(here)) : Answer(Pending{join(reasons, ", ")});
}

// Reads an input. The calls block for as long as the file system takes.

namespace {

namespace fs = std::filesystem;

constexpr const char* kVersionFile = "version";
constexpr std::size_t kMostBytes = std::size_t{1} << 28U;

/// Returns 0, or the errno for a file that cannot be read whole.
int check_file(int file, std::size_t& size) {
  struct stat status {};
  if (::fstat(file, &status) != 0) {
    return errno;
  }
  if (S_ISDIR(status.st_mode)) {
    return EISDIR;
  }
  size = static_cast<std::size_t>(status.st_size);
  return !S_ISREG(status.st_mode) ? ENOTSUP : size > kMostBytes ? EFBIG : 0;
}

FileContent read_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::size_t size = 0;
  if (const int refusal = file ? check_file(file.get(), size) : errno; refusal != 0) {
    return FileContent{"", refusal};
  }
  auto [content, error_number] = read_up_to(file.get(), size);
  return FileContent{std::move(content), error_number};
}

/// Reads the counter that a controller keeps in the file `version` beside a rank table. `table` is the table's path
/// or its directory.
std::optional<int> read_version(const std::string& table) {
  std::error_code failed;  // then the rank table cannot be read either
  const fs::path folder = fs::is_directory(table, failed) ? fs::path(table) : fs::path(table).parent_path();
  const FileContent found = read_file((folder / kVersionFile).string());
  return parse_integer(trim(found.content), 0, std::numeric_limits<int>::max());
}

/// Identifies a file's state by device, inode, size, mtime and ctime.
std::string stamp_of_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return {};
  }
  std::ostringstream text;
  text << status.st_dev << ' ' << status.st_ino << ' ' << status.st_size << ' ' << status.st_mtim.tv_sec << '.'
       << status.st_mtim.tv_nsec << ' ' << status.st_ctim.tv_sec << '.' << status.st_ctim.tv_nsec;
  return text.str();
}

/// Names the file that is missing in a directory: the one that its controller writes, otherwise the usual names.
std::string missing_in(const fs::path& folder) {
  const fs::path plain = (folder / "").lexically_normal().parent_path();
  for (const fs::path place : kRankTablePlaces) {
    if (place.has_extension() && place.parent_path() == plain) {
      return (folder / place.filename()).string();
    }
  }
  const auto& [one, other] = kTableFileNames;
  return (folder / one).string() + " or " + other;
}

/// Reads a rank table. If the path is a directory, reads the file with one of the usual names in it.
FileContent read_table(const std::string& path, const auto& read) {
  FileContent found = read(path);
  if (found.error_number != EISDIR) {
    return found;
  }
  for (const char* const name : kTableFileNames) {
    const std::string place = (fs::path(path) / name).string();
    found = read(place);
    if (found.error_number != ENOENT) {
      found.path = place;
      return found;
    }
  }
  found.path = missing_in(path);
  return found;
}

/// Reads a file from the snapshot, otherwise from the disk. The snapshot stores no directories: a path that is the
/// parent of stored files counts as one.
FileContent read_snapshot(const std::string& path, const Snapshot& snapshot) {
  const auto file = snapshot.files.find(path);
  if (file != snapshot.files.end()) {
    return FileContent{file->second};
  }
  const auto inside = snapshot.files.lower_bound(path + "/");
  const bool is_folder = inside != snapshot.files.end() && inside->first.starts_with(path + "/");
  return is_folder ? FileContent{"", EISDIR} : read_file(path);
}

/// All paths that may hold the input.
std::vector<fs::path> paths_of(const Input& input) {
  std::vector<fs::path> paths = {input.path};
  if (input.is_rank_table) {
    paths.push_back(fs::path(input.path).parent_path() / kVersionFile);
    paths.push_back(fs::path(input.path) / kVersionFile);
    for (const char* const name : kTableFileNames) {
      paths.push_back(fs::path(input.path) / name);
    }
  }
  return paths;
}

}  // namespace

FileContent read_stream(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  constexpr std::size_t kPiece = std::size_t{1} << 16U;
  FileContent found{"", file ? 0 : errno};
  bool is_whole = false;
  while (found.error_number == 0 && !is_whole) {
    const auto [piece, error_number] = read_up_to(file.get(), kPiece);
    is_whole = piece.size() < kPiece;
    found.content += piece;
    found.error_number = found.content.size() > kMostBytes ? EFBIG : error_number;
  }
  return found;
}

FileContent read_input_file(const Input& input) {
  if (!input.is_rank_table) {
    return read_file(input.path);
  }
  // Read before the table: a table newer than its number is only read once more than needed, an older one would be
  // kept.
  const auto version = read_version(input.path);
  FileContent found = read_table(input.path, read_file);
  found.version = version;
  return found;
}

FileContent read_input_file(const Input& input, const Snapshot& snapshot) {
  const auto read = [&](const std::string& path) { return read_snapshot(path, snapshot); };
  return input.is_rank_table ? read_table(input.path, read) : read(input.path);
}

std::string fingerprint_of(const std::vector<Input>& inputs) {
  std::string stamp;
  for (const Input& input : inputs) {
    for (const fs::path& path : paths_of(input)) {
      stamp += stamp_of_file(path) + ";";
    }
  }
  return stamp;
}

}  // namespace muster
