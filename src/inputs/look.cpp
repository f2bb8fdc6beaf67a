// Reads a file that is waited for. Its file system may be slow: whoever asks waits for it.
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "inputs/input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <limits>
#include <sstream>

namespace muster {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVersionFile = "version";
constexpr std::size_t kMostBytes = std::size_t{1} << 28U;

/// 0, or why it is none that can be read whole.
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

/// The whole file, as it is now.
FileContent read_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::size_t size = 0;
  FileContent found;
  found.error_number = file ? check_file(file.get(), size) : errno;
  if (found.error_number != 0) {
    return found;
  }
  found.content.resize(size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t taken = ::read(file.get(), found.content.data() + done, size - done);
    if (taken < 0 && errno != EINTR) {
      found.error_number = errno;
      break;
    }
    if (taken == 0) {
      break;
    }
    done += taken > 0 ? static_cast<std::size_t>(taken) : 0;
  }
  found.content.resize(done);
  return found;
}

/// What a controller counts in the file `version` beside a table, which may be given by its folder.
std::optional<int> read_version(const std::string& table) {
  std::error_code failed;  // then the table cannot be read either
  const fs::path folder =
      fs::is_directory(table, failed) ? fs::path(table) : fs::path(table).parent_path();
  const FileContent found = read_file((folder / kVersionFile).string());
  return parse_integer(trim(found.content), 0, std::numeric_limits<int>::max());
}

/// Which file it is, how large, and when it was changed.
std::string stamp_of_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return {};
  }
  std::ostringstream text;
  text << status.st_dev << ' ' << status.st_ino << ' ' << status.st_size << ' '
       << status.st_mtim.tv_sec << '.' << status.st_mtim.tv_nsec << ' ' << status.st_ctim.tv_sec
       << '.' << status.st_ctim.tv_nsec;
  return text.str();
}

using Read = std::function<FileContent(const std::string& path)>;

/// What is missing in a folder: the file that its controller writes, else either of the usual ones.
std::string missing_in(const fs::path& folder) {
  const fs::path plain = (folder / "").lexically_normal().parent_path();
  for (const fs::path place : kRankTablePlaces) {
    if (place.has_extension() && place.parent_path() == plain) {
      return (folder / place.filename()).string();
    }
  }
  const auto& [one, other] = rank_table::kFileNames;
  return (folder / one).string() + " or " + other;
}

/// A table's folder has the file under one of its usual names.
FileContent read_table(const std::string& path, const Read& read) {
  FileContent found = read(path);
  if (found.error_number != EISDIR) {
    return found;
  }
  for (const char* const name : rank_table::kFileNames) {
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

/// What the snapshot has, else what is there. It has no folders, so one is what files of it are in.
FileContent read_snapshot(const std::string& path, const Snapshot& snapshot) {
  const auto file = snapshot.files.find(path);
  if (file != snapshot.files.end()) {
    return FileContent{file->second};
  }
  const auto inside = snapshot.files.lower_bound(path + "/");
  const bool is_folder = inside != snapshot.files.end() && inside->first.starts_with(path + "/");
  return is_folder ? FileContent{"", EISDIR} : read_file(path);
}

/// All that is looked at for it.
std::vector<fs::path> paths_of(const Input& input) {
  std::vector<fs::path> paths = {input.path};
  if (input.is_rank_table) {
    paths.push_back(fs::path(input.path).parent_path() / kVersionFile);
    paths.push_back(fs::path(input.path) / kVersionFile);
    for (const char* const name : rank_table::kFileNames) {
      paths.push_back(fs::path(input.path) / name);
    }
  }
  return paths;
}

}  // namespace

FileContent read_stream(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  FileContent found;
  found.error_number = file ? 0 : errno;
  std::vector<char> piece(std::size_t{1} << 16U);
  while (found.error_number == 0) {
    const ssize_t taken = ::read(file.get(), piece.data(), piece.size());
    if (taken == 0) {
      break;
    }
    if (taken < 0) {
      found.error_number = errno == EINTR ? 0 : errno;
      continue;
    }
    found.content.append(piece.data(), static_cast<std::size_t>(taken));
    found.error_number = found.content.size() > kMostBytes ? EFBIG : 0;
  }
  return found;
}

FileContent look_at(const Input& input) {
  if (!input.is_rank_table) {
    return read_file(input.path);
  }
  // First: a table that is newer than its number is read once more than needed, an older one would stay.
  const auto version = read_version(input.path);
  FileContent found = read_table(input.path, read_file);
  found.version = version;
  return found;
}

FileContent look_at(const Input& input, const Snapshot& snapshot) {
  const Read read = [&](const std::string& path) { return read_snapshot(path, snapshot); };
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
