// Names and folders of the plan become files, on file systems that may hang: see docs/processes.md.
#include "agent/programs.hpp"

#include "process/spawn.hpp"

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "base/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace muster {
namespace {

constexpr std::chrono::seconds kSlow{10};
constexpr const char* kUsualPath = "/usr/local/bin:/usr/bin:/bin";

using Found = Result<std::string>;

Result<> make_folder(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  return failed ? Result<>(system_error("cannot make the folder '" + path + "'", failed.value()))
                : Result<>();
}

std::string whole_path(const std::string& path) {
  std::error_code failed;  // without a working directory it stays what it is
  const std::filesystem::path whole = std::filesystem::absolute(path, failed);
  return failed ? path : whole.string();
}

/// A search of its own for each name; for a worker its script and its folder.
class Search {
 public:
  explicit Search(std::string search_path) : search_path_(std::move(search_path)) {}

  Found find(const WorkerPlan& worker) {
    if (!worker.script.empty() && worker.script != checked_script_) {
      if (auto checked = check_script(worker.script); !checked) {
        return checked.error();
      }
      checked_script_ = worker.script;
    }
    const Found& program = program_of(worker.argv.front());
    if (program && worker.makes_directory) {
      if (auto made = make_folder(worker.working_directory); !made) {
        return made.error();
      }
    }
    return program;
  }

 private:
  const Found& program_of(const std::string& name) {
    const auto known = programs_.find(name);
    return known != programs_.end() ? known->second
                                    : programs_.emplace(name, look(name)).first->second;
  }

  [[nodiscard]] Found look(const std::string& name) const {
    Found found = find_executable(name, search_path_);
    if (found) {  // a relative path of PATH begins here, wherever the worker is started
      *found = name.find('/') == std::string::npos ? whole_path(*found) : *found;
    }
    return found;
  }

  std::string search_path_;
  std::map<std::string, Found> programs_;  ///< by name
  std::string checked_script_;
};

/// For each worker.
std::vector<Found> find_all(const LaunchPlan& plan, const std::string& search_path) {
  Search search(search_path);
  std::vector<Found> all;
  for (const WorkerPlan& worker : plan.workers) {
    all.push_back(search.find(worker));
  }
  return all;
}

/// For each a sign, which is the kind of the error or stands for none, and what was found or why not.
std::string write_all(const std::vector<Found>& all) {
  std::string answer;
  for (const Found& found : all) {
    answer += static_cast<char>(found ? 0 : static_cast<int>(found.error().kind));
    answer += (found ? *found : found.error().message) + '\0';
  }
  return answer;
}

/// Has the beginnings of all files in the kernel's memory, and of their interpreters, as deep as Linux goes.
void look_into(const std::vector<Found>& all) {
  constexpr int kMostInterpreters = 5;
  std::set<std::string> files;
  for (const Found& found : all) {
    if (found) {
      files.insert(*found);
    }
  }
  for (std::string file : files) {
    for (int depth = 0; depth < kMostInterpreters && !file.empty(); ++depth) {
      file = interpreter_of(file);
    }
  }
}

std::vector<Found> read_all(const std::string& answer) {
  std::vector<Found> all;
  for (std::size_t begin = 0; begin < answer.size();) {
    const auto kind = static_cast<unsigned char>(answer[begin]);
    const std::size_t end = answer.find('\0', begin + 1);
    std::string text = answer.substr(begin + 1, end - begin - 1);
    all.push_back(kind == 0 ? Found(std::move(text))
                            : Found(Error{static_cast<ErrorKind>(kind), std::move(text)}));
    begin = end + 1;
  }
  return all;
}

}  // namespace

Programs::Programs(boost::asio::io_context& io,
                   HelperProcesses& helpers,
                   const LaunchPlan& plan,
                   const std::map<std::string, std::string>& variables)
    : plan_(plan),
      errand_(io, helpers),
      slow_search_timer_(io, kSlow, [this] { log_slow_search(); }) {
  const auto path = variables.find("PATH");
  search_path_ = path == variables.end() ? kUsualPath : path->second;
}

bool Programs::find(std::function<void()> then) {
  if (plan_.nodes == 1) {
    found_ = find_all(plan_, search_path_);
    return true;
  }
  began_ = std::chrono::steady_clock::now();
  slow_search_timer_.ask();
  const auto work = [this] {
    const auto all = find_all(plan_, search_path_);
    look_into(all);
    return write_all(all);
  };
  errand_.start({work, {}},
                HelperTask::kNoLimit,
                [this, then = std::move(then)](const HelperTask::Answer& answer) {
                  slow_search_timer_.cancel();
                  // Somebody has killed it: then we have to ask ourselves.
                  found_ = answer ? read_all(*answer) : find_all(plan_, search_path_);
                  then();
                });
  return false;
}

void Programs::cancel() {
  slow_search_timer_.cancel();
  errand_.cancel();
}

void Programs::log_slow_search() {
  const auto waited =
      std::chrono::round<std::chrono::seconds>(std::chrono::steady_clock::now() - began_);
  log_warning("nothing is started yet: a file system has not answered for " +
              std::to_string(waited.count()) + " s, where '" + plan_.workers.front().argv.front() +
              "' is looked for");
  slow_search_timer_.ask();
}

}  // namespace muster
