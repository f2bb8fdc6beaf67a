// Writes the files of a plan so that no reader ever sees half of one: into a file beside it, to the
// disk, and only then under its name. A process beside the agent does it, since a disk may hang.
#include "planned_files.hpp"

#include <muster/base/follow_links.hpp>
#include <muster/base/text.hpp>
#include <muster/base/unique_fd.hpp>
#include <muster/base/write_all.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

namespace muster {
namespace {

namespace fs = std::filesystem;

/// A file as it was written: whoever has put another one under that name keeps it.
struct Written {
  std::string path;
  dev_t device = 0;
  ino_t number = 0;
};

Error cannot_write(const std::string& path, int error_number) {
  return system_error("cannot write '" + path + "'", error_number);
}

/// Where the file is in the end, if a link stands under its name. Refuses a folder and a device.
Result<std::string> find_place(const std::string& path) {
  std::error_code failed;
  const fs::path target = follow_links(path, failed);
  if (failed) {
    return cannot_write(path, failed.value());
  }
  const fs::path parent = target.parent_path();
  if (!parent.empty() && !fs::is_directory(parent, failed)) {
    return Error{ErrorKind::System,
                 "cannot write '" + path + "': there is no folder '" + parent.string() + "'"};
  }
  if (fs::exists(target, failed) && !fs::is_regular_file(target, failed)) {
    return Error{ErrorKind::System, "cannot write '" + path + "': it is there and is no file"};
  }
  return target.string();
}

/// 0 when all of it was written, has its permissions and is on the disk; else why not.
int fill(int file, const PlannedFile& planned) {
  const WriteResult written = write_all(file, planned.content);
  if (written.error_number != 0) {
    return written.error_number;
  }
  const auto mode = static_cast<mode_t>(std::stoul(planned.mode, nullptr, 8));
  const bool is_done = ::fchmod(file, mode) == 0 && ::fsync(file) == 0;  // whatever the umask is
  return is_done ? 0 : errno;
}

Result<Written> write_file(const PlannedFile& planned) {
  const auto place = find_place(planned.path);
  if (!place) {
    return place.error();
  }
  std::string temporary = (fs::path(*place).parent_path() / ".muster_XXXXXX").string();
  const UniqueFd file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file) {
    return cannot_write(planned.path, errno);
  }
  struct stat status {};
  int error_number = fill(file.get(), planned);
  if (error_number == 0 &&
      (::fstat(file.get(), &status) != 0 || ::rename(temporary.c_str(), place->c_str()) != 0)) {
    error_number = errno;
  }
  if (error_number != 0) {
    (void)::unlink(temporary.c_str());
    return cannot_write(planned.path, error_number);
  }
  return Written{*place, status.st_dev, status.st_ino};
}

/// What has come of it, as it passes from process to process.
struct WrittenFiles {
  std::vector<Written> to_remove;
  std::string error;  ///< empty: all of them are there
};

constexpr char kEnd = '\0';  ///< of a record: no path and no message has it

std::string write_files(const std::vector<PlannedFile>& files) {
  std::ostringstream answer;
  for (const PlannedFile& planned : files) {
    const auto written = write_file(planned);
    if (!written) {
      answer << "0 0 " << written.error().message << kEnd;
      break;
    }
    if (planned.is_private) {
      answer << written->device << ' ' << written->number << ' ' << written->path << kEnd;
    }
  }
  return answer.str();
}

/// A file's number is never 0.
WrittenFiles read_answer(const std::string& answer) {
  WrittenFiles result;
  std::istringstream records(answer);
  for (std::string record; std::getline(records, record, kEnd);) {
    std::istringstream fields(record);
    Written file;
    fields >> file.device >> file.number;
    fields.get();  // one blank: a path may begin with another
    std::getline(fields, file.path, kEnd);
    if (file.number == 0) {
      result.error = file.path;
    } else {
      result.to_remove.push_back(std::move(file));
    }
  }
  return result;
}

void remove_files(const std::vector<Written>& files) {
  for (const Written& file : files) {
    struct stat status {};
    if (::lstat(file.path.c_str(), &status) == 0 && status.st_dev == file.device &&
        status.st_ino == file.number) {
      (void)::unlink(file.path.c_str());  // what cannot be removed harms nobody
    }
  }
}

Error takes_too_long(const std::vector<PlannedFile>& files) {
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const PlannedFile& planned : files) {
    names.push_back("'" + planned.path + "'");
  }
  return Error{ErrorKind::System,
               std::string("cannot write ") + (names.size() > 1 ? "one of " : "") +
                   join(names, ", ") + ": its file system does not answer"};
}

class PlannedFiles final : public Service {
 public:
  explicit PlannedFiles(FileWork work) : work_(std::move(work)) {}

  Result<std::optional<Additions>> start(const LaunchPlan& plan) override {
    for (const PlannedFile& planned : plan.files) {
      if (planned.path.empty()) {  // it was to be in the folder of the run
        return Error{ErrorKind::System,
                     "there is no folder for files of the workers (TMPDIR names another place)"};
      }
    }
    if (plan.files.empty()) {
      return std::optional<Additions>(std::in_place);
    }
    is_writing_ = true;
    work_.write([files = plan.files] { return write_files(files); },
                unless_gone([this, files = plan.files](const std::optional<std::string>& answer) {
                  if (std::exchange(is_writing_, false)) {
                    answer ? take(read_answer(*answer)) : on_failure(takes_too_long(files));
                  }
                }));
    return std::optional<Additions>();
  }

  void stop() override {
    if (std::exchange(is_writing_, false) || !private_.empty()) {
      work_.remove([files = std::exchange(private_, {})] {
        remove_files(files);
        return std::string();
      });
    }
  }

 private:
  void take(WrittenFiles result) {
    private_ = std::move(result.to_remove);
    if (result.error.empty()) {
      on_ready({});
    } else {
      on_failure({ErrorKind::System, std::move(result.error)});
    }
  }

  FileWork work_;
  std::vector<Written> private_;
  bool is_writing_ = false;
};

}  // namespace

std::unique_ptr<Service> make_planned_files(const ServiceInput& input) {
  return std::make_unique<PlannedFiles>(input.file_work);
}

}  // namespace muster
