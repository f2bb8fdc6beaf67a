// Reads golden cases and makes what they expect.
#include "case.hpp"

#include "front_end.hpp"
#include "plan_job.hpp"
#include "requests.hpp"

#include <muster/base/text.hpp>
#include <muster/base/yaml.hpp>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

namespace muster::golden {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOwnVariable = "MUSTER_";

Error bad_case(const fs::path& file, const std::string& message) {
  return Error{ErrorKind::BadData, file.string() + ": " + message};
}

/// Lines of a file that may be missing; the line end of the last one may be missing, too.
std::vector<std::string> lines_of(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// MUSTER_NPROC_PER_NODE is the option "nproc-per-node".
std::string option_of(const std::string& variable) {
  std::string name = variable.substr(kOwnVariable.size());
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(c));
  });
  return name;
}

Result<> read_environment(Case& given, const fs::path& file) {
  for (const std::string& line : lines_of(file)) {
    const std::size_t equals = line.find('=');
    if (line.starts_with('#')) {
      continue;
    }
    if (equals == std::string::npos || equals == 0) {
      return bad_case(file, "'" + line + "' is no NAME=value");
    }
    const std::string name = line.substr(0, equals);
    const std::string value = line.substr(equals + 1);
    given.snapshot.variables[name] = value;
    if (name.starts_with(kOwnVariable)) {
      given.settings.set(option_of(name), {value, name});
    }
  }
  return {};
}

Result<> read_arguments(Case& given, const fs::path& file) {
  const std::vector<std::string> lines = lines_of(file);
  if (!lines.empty() && (lines.front() == "muster" || find_front_end(lines.front()) != nullptr)) {
    given.command_line = lines;
    return {};
  }
  const auto dashes = std::find(lines.begin(), lines.end(), "--");
  if (dashes == lines.end()) {
    return bad_case(file, "no '--' before the program");
  }
  for (auto line = lines.begin(); line != dashes; ++line) {
    const std::size_t equals = line->find('=');
    if (!line->starts_with("--") || equals == std::string::npos) {
      return bad_case(file, "'" + *line + "' is no --name=value");
    }
    const std::string flag = line->substr(0, equals);
    given.settings.set(flag.substr(2), {line->substr(equals + 1), flag});
  }
  given.program.assign(dashes + 1, lines.end());
  return {};
}

Result<> read_devices(Snapshot& snapshot, const fs::path& file) {
  for (const std::string& line : lines_of(file)) {
    const std::size_t equals = line.find('=');
    const std::string name = line.substr(0, equals);
    const auto count = equals == std::string::npos
                           ? std::nullopt
                           : parse_integer(line.substr(equals + 1), 0, 1'000'000);
    const std::map<std::string, int*> counts = {{"nvidia", &snapshot.devices.nvidia},
                                                {"ascend", &snapshot.devices.ascend},
                                                {"amd", &snapshot.devices.amd},
                                                {"cores", &snapshot.cores.count}};
    const auto known = counts.find(name);
    if (!count || known == counts.end()) {
      return bad_case(file, "'" + line + "' is no nvidia=, ascend=, amd= or cores= with a number");
    }
    *known->second = *count;
  }
  return {};
}

Result<> read_volcano(Snapshot& snapshot, const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename() == "id_rsa") {
      snapshot.volcano_ssh_key = "/root/.ssh/id_rsa";
      continue;
    }
    if (entry.path().extension() != ".host") {
      return bad_case(entry.path(), "is no <task>.host and no id_rsa");
    }
    snapshot.volcano_hosts[entry.path().stem()] = lines_of(entry.path());
  }
  return {};
}

Result<> check_names(const fs::path& folder) {
  static const std::vector<std::string> kKnown = {"environment",
                                                  "arguments",
                                                  "devices",
                                                  "hostname",
                                                  "volcano",
                                                  "template.yaml",
                                                  "expected.yaml",
                                                  "expected-error.txt"};
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end()) {
      return bad_case(entry.path(), "is no file of a case");
    }
  }
  for (const char* const name : {"environment", "arguments"}) {
    if (!fs::exists(folder / name)) {
      return bad_case(folder / name, "is missing");
    }
  }
  return {};
}

/// A case has a command line, or settings and a program that is run as it is.
Result<CommandLine> line_of(const Case& given) {
  if (given.command_line.empty()) {
    CommandLine line;
    line.settings = given.settings;
    line.program = given.program;
    return line;
  }
  std::vector<std::string> tokens = given.command_line;
  std::vector<char*> argv;
  for (std::string& token : tokens) {
    argv.push_back(token.data());
  }
  return read_command_line(argv, given.snapshot);
}

Result<JobRequest> job_of(const Case& given, const CommandLine& line) {
  if (!given.command_line.empty()) {
    return read_job(line, given.snapshot);
  }
  JobRequest job;
  job.program = given.program;
  if (const auto log_dir = given.settings.find("log-dir")) {
    job.log_dir = log_dir->value;
  }
  return job;
}

Result<LaunchPlan> plan_of(const Case& given) {
  const auto line = line_of(given);
  if (!line) {
    return line.error();
  }
  const auto requested = job_of(given, *line);
  if (!requested) {
    return requested.error();
  }
  JobRequest job = *requested;
  auto planned = plan_job(*line, job, given.snapshot);
  return planned ? Result<LaunchPlan>(std::move(planned->plan)) : planned.error();
}

}  // namespace

Result<Case> read_case(const fs::path& folder) {
  if (auto checked = check_names(folder); !checked) {
    return checked.error();
  }
  Case given;
  given.snapshot.host_name = "node";
  given.snapshot.working_directory = "/home/user/job";
  given.snapshot.cores = {.count = 8, .source = "affinity"};
  if (const auto lines = lines_of(folder / "hostname"); !lines.empty()) {
    given.snapshot.host_name = lines.front();
  }
  if (auto read = read_environment(given, folder / "environment"); !read) {
    return read.error();
  }
  if (auto read = read_arguments(given, folder / "arguments"); !read) {
    return read.error();
  }
  if (auto read = read_devices(given.snapshot, folder / "devices"); !read) {
    return read.error();
  }
  if (fs::exists(folder / "volcano")) {
    if (auto read = read_volcano(given.snapshot, folder / "volcano"); !read) {
      return read.error();
    }
  }
  return given;
}

Outcome outcome_of(const Case& given) {
  const auto plan = plan_of(given);
  if (!plan) {
    return {"expected-error.txt",
            std::to_string(plan.error().exit_code()) + "\n" + plan.error().message + "\n"};
  }
  json::value document = to_document(*plan);
  document.as_object()["muster"] = "any version";  // a release is no reason to touch each case
  return {"expected.yaml", to_yaml(document)};
}

std::string first_difference(const std::string& expected, const std::string& actual) {
  const std::vector<std::string> wanted = split(expected, '\n');
  const std::vector<std::string> found = split(actual, '\n');
  const auto differs = std::mismatch(wanted.begin(), wanted.end(), found.begin(), found.end());
  if (differs.first == wanted.end() && differs.second == found.end()) {
    return {};
  }
  const auto at = static_cast<std::size_t>(differs.first - wanted.begin());
  std::ostringstream text;
  text << "line " << at + 1 << "\n";
  for (std::size_t i = at < 3 ? 0 : at - 3; i < at; ++i) {
    text << "             " << wanted[i] << "\n";
  }
  text << "  expected   " << (at < wanted.size() ? wanted[at] : "(the end)") << "\n"
       << "  but it is  " << (at < found.size() ? found[at] : "(the end)") << "\n";
  return text.str();
}

}  // namespace muster::golden
