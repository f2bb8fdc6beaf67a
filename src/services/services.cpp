// The table of services, the list of those of one attempt, and the service that writes the planned files.
#include "services/services.hpp"

#include "base/file_io.hpp"
#include "base/random.hpp"
#include "base/text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

namespace muster {
namespace {

struct KnownService {
  const char* name;
  std::unique_ptr<Service> (*make)(const ServiceInput& input);
};

/// In start order: files are written last, with the additions of all other services.
constexpr auto kServices = std::to_array<KnownService>({
    {kWorkerPortService, make_worker_port_service},
    {kTorchStoreService, make_torch_store},
    {kPmixService, make_pmix_service},
    {kSshService, make_ssh_service},
    {kFileTimerService, make_file_timer},
    {kPlannedFilesService, make_planned_files},
});

void add(LaunchPlan& plan, const PlanAdditions& additions) {
  if (!additions.deferred_values.empty()) {
    fill_deferred(plan, additions.deferred_values);
  }
  for (const auto& [worker, environment] : additions.environment_of) {
    plan.workers.at(worker).environment.insert(environment.begin(), environment.end());
  }
  for (WorkerPlan& worker : plan.workers) {
    worker.environment.insert(additions.environment.begin(), additions.environment.end());
  }
}

}  // namespace

Services::Services(const std::vector<std::string>& names, const ServiceInput& input) : input_(input) {
  adjust(names);
}

void Services::adjust(const std::vector<std::string>& names) {
  std::vector<NamedService> wanted;
  for (const KnownService& known : kServices) {
    if (std::find(names.begin(), names.end(), known.name) == names.end()) {
      continue;
    }
    const auto here =
        std::find_if(services_.begin(), services_.end(), [&](const auto& one) { return one.name == known.name; });
    wanted.push_back(here != services_.end() ? std::move(*here) : NamedService{known.name, known.make(input_)});
  }
  services_ = std::move(wanted);
}

Result<AttemptPorts> Services::prepare() {
  AttemptPorts offer{.worker_port = input_.worker_port.value_or(0)};
  for (const NamedService& one : services_) {
    if (auto prepared = one.service->prepare(offer); !prepared) {
      return Error{prepared.error().kind, "service '" + one.name + "': " + prepared.error().message};
    }
  }
  return offer;
}

bool Services::start(LaunchPlan& plan) {
  plan_ = &plan;
  next_ = 0;
  return start_next();
}

/// Starts services in order; stops at the first that is not ready at once. True: all are ready.
bool Services::start_next() {
  while (next_ < services_.size()) {
    NamedService& one = services_[next_];
    one.is_started = true;  // `stop` also cleans up after a start that failed half way
    one.service->set_owner(*this);
    const auto additions = one.service->start(*plan_);
    if (!additions) {
      fail(one.name, additions.error());
      return false;
    }
    if (!*additions) {
      return false;
    }
    add(*plan_, **additions);
    ++next_;
  }
  return true;
}

void Services::fail(const std::string& service, const Error& error) {
  const ServiceFailure failure{service, error};
  if (!failure_) {
    failure_ = failure;
  }
  if (on_failure) {
    on_failure(failure);
  }
}

void Services::give_up_waiting(std::chrono::seconds time) {
  if (const std::string name = awaited(); !name.empty()) {
    fail(name, {ErrorKind::System, "was not ready after " + std::to_string(time.count()) + " s"});
  }
}

/// The awaited service is ready.
void Services::on_service_ready(const PlanAdditions& additions) {
  add(*plan_, additions);
  ++next_;
  if (start_next()) {
    on_ready();
  }
}

std::string Services::awaited() const {
  return next_ < services_.size() ? services_[next_].name : std::string();
}

void Services::on_service_failure(const Service& service, const Error& error) {
  const auto one = std::find_if(services_.begin(), services_.end(),
                                [&](const NamedService& named) { return named.service.get() == &service; });
  if (one->is_started) {
    fail(one->name, error);
  }
}

bool Services::explain_end(std::size_t worker, bool has_succeeded) {
  for (const NamedService& one : services_) {
    if (const auto error = one.service->explain_end(worker, has_succeeded)) {
      explanations_.emplace(worker, error->message);
      return true;
    }
  }
  return false;
}

void Services::stop() {
  for (auto one = services_.rbegin(); one != services_.rend(); ++one) {
    if (std::exchange(one->is_started, false)) {
      one->service->stop();
    }
  }
}

std::vector<std::string> service_names() {
  std::vector<std::string> names;
  names.reserve(std::size(kServices));
  for (const KnownService& known : kServices) {
    names.emplace_back(known.name);
  }
  return names;
}

Result<> check_services(const ModeTemplate& mode) {
  const std::vector<std::string> names = service_names();
  for (const std::string& wanted : mode.services) {
    if (std::find(names.begin(), names.end(), wanted) == names.end()) {
      return Error{ErrorKind::BadData, mode.service_places.at(wanted) + " names the unknown service '" + wanted +
                                           "'; there are " + join(names, ", ")};
    }
  }
  return {};
}

// Writes the files of a plan so that no reader ever sees half of one: to a temporary file in the same directory,
// synced to the disk, then renamed. A helper process does so, since a disk may hang. It may be killed at any moment,
// so it notes its progress in memory that it shares with the agent.

namespace {

namespace fs = std::filesystem;

/// Progress of one file.
struct Trace {
  bool has_temporary;  ///< a temporary file exists, or may exist
  dev_t device;        ///< with `number`, identifies our file: one that replaced it is kept
  ino_t number;        ///< inode; 0: our file is not under its name
};

/// The plan's files, for the helper process that writes them and the one that removes them.
struct FileWriteJob {
  std::vector<PlannedFile> files;
  /// In the directory of each file. Unique, and chosen before the writer starts: the helper process that removes the file
  /// cannot ask the writer.
  std::string temporary_name;
  SharedArray<Trace> traces;  ///< one for each file
};

std::string temporary_beside(const fs::path& place, const FileWriteJob& writing) {
  return (place.parent_path() / writing.temporary_name).string();
}

Error cannot_write(const std::string& path, int error_number) {
  return system_error("cannot write '" + path + "'", error_number);
}

/// Resolves links to the final place of the file. Refuses a directory and a device.
Result<std::string> find_place(const std::string& path) {
  std::error_code failed;
  const fs::path target = follow_links(path, failed);
  if (failed) {
    return cannot_write(path, failed.value());
  }
  const fs::path parent = target.parent_path();
  if (!parent.empty() && !fs::is_directory(parent, failed)) {
    return Error{ErrorKind::System, "cannot write '" + path + "': there is no folder '" + parent.string() + "'"};
  }
  if (fs::exists(target, failed) && !fs::is_regular_file(target, failed)) {
    return Error{ErrorKind::System, "cannot write '" + path + "': it is there and is no file"};
  }
  return target.string();
}

/// Writes the content, sets the permissions and syncs to the disk. Returns 0 or the error number.
int fill(int file, const PlannedFile& planned) {
  const WriteResult written = write_all(file, planned.content);
  if (written.error_number != 0) {
    return written.error_number;
  }
  const auto mode = static_cast<mode_t>(std::stoul(planned.mode, nullptr, 8));
  const bool is_done = ::fchmod(file, mode) == 0 && ::fsync(file) == 0;  // independent of the umask
  return is_done ? 0 : errno;
}

/// Renames the file to its name. Returns 0 or the error number.
int move_to_place(int file, const std::string& temporary, const std::string& place, Trace& trace) {
  struct stat status {};
  if (::fstat(file, &status) != 0) {
    return errno;
  }
  trace.device = status.st_dev;
  trace.number = status.st_ino;  // before the rename: if we are killed in between, no file has that name and inode
  return ::rename(temporary.c_str(), place.c_str()) == 0 ? 0 : errno;
}

Result<> write_file(const FileWriteJob& writing, std::size_t index) {
  const PlannedFile& planned = writing.files[index];
  Trace& trace = writing.traces[index];
  const auto place = TRY(find_place(planned.path));
  const std::string temporary = temporary_beside(place, writing);
  trace.has_temporary = true;
  const UniqueFd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  int error_number = file ? fill(file.get(), planned) : errno;
  if (error_number == 0) {
    error_number = move_to_place(file.get(), temporary, place, trace);
  }
  if (error_number != 0) {
    (void)::unlink(temporary.c_str());
  }
  trace.has_temporary = false;
  return error_number == 0 ? Result<>() : cannot_write(planned.path, error_number);
}

/// Returns an error message; empty: all files are written.
std::string write_files(const FileWriteJob& writing) {
  for (std::size_t i = 0; i < writing.files.size(); ++i) {
    if (const auto written = write_file(writing, i); !written) {
      return written.error().message;
    }
  }
  return {};
}

/// Ignores errors: a file that cannot be removed does no harm.
void remove_file(const FileWriteJob& writing, std::size_t index) {
  const PlannedFile& planned = writing.files[index];
  const Trace& trace = writing.traces[index];
  const bool is_to_go = planned.is_private && trace.number != 0;
  if (!trace.has_temporary && !is_to_go) {
    return;  // nothing to remove, and its file system may hang
  }
  std::error_code ignored;  // the links could be followed when the file was written
  const fs::path place = follow_links(planned.path, ignored);
  if (trace.has_temporary) {
    (void)::unlink(temporary_beside(place, writing).c_str());
  }
  struct stat status {};
  const bool is_there = is_to_go && ::lstat(place.c_str(), &status) == 0;
  if (is_there && status.st_dev == trace.device && status.st_ino == trace.number) {
    (void)::unlink(place.c_str());
  }
}

std::string remove_files(const FileWriteJob& writing) {
  for (std::size_t i = 0; i < writing.files.size(); ++i) {
    remove_file(writing, i);
  }
  return {};
}

/// "one of '/shared/a', '/shared/b'".
std::string describe(const std::vector<PlannedFile>& files) {
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const PlannedFile& planned : files) {
    names.push_back("'" + planned.path + "'");
  }
  return (names.size() > 1 ? "one of " : "") + join(names, ", ");
}

class PlannedFiles final : public Service {
 public:
  explicit PlannedFiles(ServiceHost* host) : host_(host) {}

  Result<std::optional<PlanAdditions>> start(const LaunchPlan& plan) override {
    for (const PlannedFile& planned : plan.files) {
      if (planned.path.empty()) {  // its place is the directory of the run, which is missing
        return Error{ErrorKind::System, "there is no folder for files of the workers (TMPDIR names another place)"};
      }
    }
    if (plan.files.empty()) {
      return std::optional<PlanAdditions>(std::in_place);
    }
    auto traces = TRY(share_array<Trace>(plan.files.size()));
    writing_ =
        std::make_shared<FileWriteJob>(FileWriteJob{plan.files, ".muster_" + TRY(random_digits()), std::move(traces)});
    is_awaited_ = true;
    host_->write_files(
        describe(plan.files), [writing = writing_] { return write_files(*writing); },
        guarded([this](const std::optional<std::string>& answer) {
          if (std::exchange(is_awaited_, false)) {
            take(answer);
          }
        }));
    return std::optional<PlanAdditions>();
  }

  void stop() override {
    is_awaited_ = false;
    if (writing_) {
      host_->remove_files([writing = std::exchange(writing_, nullptr)] { return remove_files(*writing); });
    }
  }

 private:
  void take(const std::optional<std::string>& answer) {
    const std::vector<PlannedFile>& files = writing_->files;
    if (!answer) {
      report_failure({ErrorKind::System, "cannot write " + describe(files) + ": its file system does not answer"});
      return;
    }
    const bool is_any_private =
        std::any_of(files.begin(), files.end(), [](const PlannedFile& planned) { return planned.is_private; });
    if (!is_any_private) {
      writing_.reset();
    }
    if (answer->empty()) {
      report_ready({});
    } else {
      report_failure({ErrorKind::System, *answer});
    }
  }

  ServiceHost* host_;
  std::shared_ptr<const FileWriteJob> writing_;  ///< empty: nothing to remove
  bool is_awaited_ = false;
};

}  // namespace

std::unique_ptr<Service> make_planned_files(const ServiceInput& input) {
  return std::make_unique<PlannedFiles>(input.host);
}

}  // namespace muster
