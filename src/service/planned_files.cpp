// Writes the files of a plan so that no reader ever sees half of one: into a file beside it, to the
// disk, and only then under its name.
#include "planned_files.hpp"

#include <muster/base/follow_links.hpp>
#include <muster/base/unique_fd.hpp>
#include <muster/base/write_all.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

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

class PlannedFiles final : public Service {
 public:
  Result<std::optional<Additions>> start(const LaunchPlan& plan) override {
    for (const PlannedFile& planned : plan.files) {
      if (planned.path.empty()) {  // it was to be in the folder of the run
        return Error{ErrorKind::System,
                     "there is no folder for files of the workers (TMPDIR names another place)"};
      }
      auto written = write_file(planned);
      if (!written) {
        return written.error();
      }
      if (planned.is_private) {
        private_.push_back(std::move(*written));
      }
    }
    return std::optional<Additions>(std::in_place);
  }

  void stop() override {
    for (const Written& file : private_) {
      struct stat status {};
      if (::lstat(file.path.c_str(), &status) == 0 && status.st_dev == file.device &&
          status.st_ino == file.number) {
        (void)::unlink(file.path.c_str());  // what cannot be removed harms nobody
      }
    }
    private_.clear();
  }

 private:
  std::vector<Written> private_;
};

}  // namespace

std::unique_ptr<Service> make_planned_files(const ServiceInput& /*input*/) {
  return std::make_unique<PlannedFiles>();
}

}  // namespace muster
