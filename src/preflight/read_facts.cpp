// Each function adds the facts of one source. The names of files are those of the kernel, drivers and installers.
#include "preflight/read_facts.hpp"

#include "base/file_io.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "environment/accelerators.hpp"
#include "environment/cpu_topology.hpp"
#include "environment/mounted_files.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace muster::preflight {
namespace {

namespace fs = std::filesystem;

/// False if a folder of /sys is missing or hidden, as in some containers: then nothing is known of its content.
bool can_list(const std::string& folder) {
  return !entries_of(folder).empty();  // each has "." at least
}

void add_text(Facts& facts, std::string_view name, std::string text) {
  if (!text.empty()) {
    facts.texts.emplace(name, std::move(text));
  }
}

/// The word behind this one in a line: 580.95 in "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95  Tue".
std::string word_behind(const std::string& line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  if (at == std::string::npos) {
    return {};
  }
  const std::string rest(trim(std::string_view(line).substr(at + mark.size())));
  return rest.substr(0, rest.find_first_of(" \t"));
}

/// The value of a line "Version=24.1.rc2" in any case of the name, as the installers of CANN write it.
std::string version_line(const std::string& path) {
  constexpr std::string_view kName = "version=";
  constexpr int kMostLines = 32;
  std::ifstream file(path);
  std::string line;
  for (int i = 0; i < kMostLines && std::getline(file, line); ++i) {
    if (lower_case(line.substr(0, kName.size())) == kName) {
      return std::string(trim(line.substr(kName.size())));
    }
  }
  return {};
}

// --- Kernel, drivers, installations --------------------------------------------------------------

/// Sources: the open and the closed kernel module write "NVRM version: ... x86_64  580.95.05  ..."; Ascend's driver
/// package has version.info; amdgpu as a module of its own has a version.
void add_drivers(Facts& facts, const std::string& root) {
  const std::string line = first_line(root + "/proc/driver/nvidia/version");
  for (const char* mark : {"for x86_64", "for aarch64", "Kernel Module "}) {
    add_text(facts, "driver", word_behind(line, mark));
  }
  add_text(facts, "driver", first_line(root + "/sys/module/nvidia/version"));
  add_text(facts, "driver", version_line(root + "/usr/local/Ascend/driver/version.info"));
  add_text(facts, "driver", first_line(root + "/sys/module/amdgpu/version"));
  if (!can_list(root + "/sys/module")) {
    add_text(facts, "driver", std::string(kNotKnown));
  }
}

std::string cuda_version(const std::string& path) {
  constexpr std::size_t kMostBytes = 65'536;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto document = parse_object(read_up_to(file.get(), kMostBytes).bytes);
  const json::value* const cuda = document ? document->if_contains("cuda") : nullptr;
  return cuda != nullptr && cuda->is_object() ? std::string(text_of(cuda->get_object(), "version")) : std::string();
}

void add_toolkits(Facts& facts, const std::string& root) {
  add_text(facts, "CUDA", cuda_version(root + "/usr/local/cuda/version.json"));
  for (const char* machine : {"aarch64-linux", "x86_64-linux"}) {
    add_text(
        facts, "CANN",
        version_line(root + "/usr/local/Ascend/ascend-toolkit/latest/" + machine + "/ascend_toolkit_install.info"));
  }
}

// --- Python ---------------------------------------------------------------------------------------

/// A package by the name of its folder NAME-VERSION.dist-info, and the fact that its version is.
struct Package {
  std::string_view name;
  std::string_view fact;
};

constexpr std::array<Package, 8> kPackages{{
    {"torch", "torch"},
    {"torch_npu", "torch_npu"},
    {"mindspore", "mindspore"},
    {"tensorflow", "tensorflow"},
    {"jax", "jax"},
    {"nvidia_nccl_cu11", "NCCL"},
    {"nvidia_nccl_cu12", "NCCL"},
    {"nvidia_nccl_cu13", "NCCL"},
}};

/// The versions that folders have, by fact.
using Versions = std::map<std::string_view, std::set<std::string>>;

void find_packages(Versions& versions, const std::string& folder) {
  constexpr std::string_view kEnding = ".dist-info";
  for (const std::string& entry : entries_of(folder)) {
    const std::size_t dash = entry.find('-');
    if (dash == std::string::npos || !entry.ends_with(kEnding) || dash + 1 + kEnding.size() > entry.size()) {
      continue;
    }
    const auto row = std::ranges::find(kPackages, std::string_view(entry).substr(0, dash), &Package::name);
    if (row != kPackages.end()) {
      versions[row->fact].insert(entry.substr(dash + 1, entry.size() - dash - 1 - kEnding.size()));
    }
  }
}

/// Adds the packages below a folder that has python3.11/site-packages. `own`: the interpreter's folder there; empty: it
/// may be each of them. All versions of Python use the folder python3, which Debian has.
void add_packages_of_library(Facts& facts, const fs::path& library, const std::string& own) {
  Versions versions;
  for (const std::string& folder : entries_of(library)) {
    if (folder == "python3" || (own.empty() ? folder.starts_with("python3.") : folder == own)) {
      find_packages(versions, library / folder / "site-packages");
      find_packages(versions, library / folder / "dist-packages");
    }
  }
  for (const auto& [fact, found] : versions) {
    add_text(facts, fact, found.size() == 1 ? *found.begin() : std::string(kNotKnown));
  }
}

/// Reads the interpreter's version from the name of its file, and the packages of its environment before those of the
/// installation that the environment is made from.
void add_python(Facts& facts, const std::string& root, const std::string& interpreter) {
  constexpr std::string_view kName = "python3.";
  constexpr std::string_view kVersion = "0123456789t";  // 3.13t is the one without a global lock
  if (interpreter.empty()) {
    return;
  }
  const fs::path path = root + interpreter;
  std::error_code failed;  // then the path stays as it is
  const fs::path target = fs::canonical(path, failed);
  const std::string file = target.filename().string();
  std::string own;
  if (file.starts_with(kName)) {
    own = file.substr(0, file.find_first_not_of(kVersion, kName.size()));
  }
  add_text(facts, "Python", own.empty() ? std::string(kNotKnown) : own.substr(kName.size() - 2));
  for (const fs::path& program : {path, target}) {
    add_packages_of_library(facts, program.parent_path().parent_path() / "lib", own);
  }
}

// --- Devices and ports ----------------------------------------------------------------------------

std::vector<Accelerator> accelerators_below(const std::string& root) {
  Topology topology;
  place_accelerators(topology, root);
  for (auto* const list : {&topology.nvidia, &topology.ascend, &topology.amd}) {
    if (!list->empty()) {
      return std::move(*list);
    }
  }
  return {};
}

/// An idle card lowers its speed, so the most that it can is compared, and the width that it has.
std::string describe_link(const std::string& folder) {
  const auto width = parse_integer(first_line(folder + "/current_link_width"), 1, 64);
  const std::string speed = first_line(folder + "/max_link_speed");
  const bool is_known = !speed.empty() && speed.front() >= '0' && speed.front() <= '9';
  return width && is_known ? "x" + std::to_string(*width) + " " + speed : std::string();
}

void add_devices(Facts& facts, const std::string& root) {
  std::map<std::string, int> models;
  Facts::Set links;
  for (const Accelerator& device : accelerators_below(root)) {
    ++models[device.model.empty() ? "devices" : device.model];
    if (std::string link = describe_link(root + "/sys/bus/pci/devices/" + device.address);
        !device.address.empty() && !link.empty()) {
      links[device.address] = std::move(link);
    }
  }
  std::vector<std::string> parts;
  parts.reserve(models.size());
  for (const auto& [model, count] : models) {
    parts.push_back(std::to_string(count) + " " + model);
  }
  add_text(facts, "devices", join(parts, ", "));
  if (std::error_code failed; fs::exists(root + "/dev/kfd", failed) && !can_list(root + "/sys/class/kfd")) {
    add_text(facts, "devices", std::string(kNotKnown));  // AMD's accelerators are counted there
  }
  if (can_list(root + "/sys/bus/pci/devices")) {
    facts.sets["device"] = std::move(links);
  }
}

/// A virtual function: hosts have as many as their users asked for.
bool is_virtual_function(const std::string& folder) {
  std::error_code failed;  // then it is none
  return fs::exists(folder + "/device/physfn", failed);
}

/// "400 Gb/s", or "down" for a port in any other state than active ("4: ACTIVE").
std::string describe_port(const std::string& folder) {
  const std::string rate = first_line(folder + "/rate");  // "400 Gb/sec (4X NDR)"
  const std::size_t unit = rate.find(" Gb/sec");
  const bool is_active = first_line(folder + "/state").starts_with("4:");
  return !is_active ? "down" : unit == std::string::npos ? rate : rate.substr(0, unit) + " Gb/s";
}

void add_ports(Facts& facts, const std::string& root) {
  const std::string devices = root + "/sys/class/infiniband";
  std::error_code failed;  // then it is not known whether the folder is there
  const bool has_no_ports = fs::status(devices, failed).type() == fs::file_type::not_found;
  if (!can_list(has_no_ports ? root + "/sys/class" : devices)) {
    return;
  }
  Facts::Set& ports = facts.sets["port"];
  for (const std::string& device : entries_of(devices)) {
    const fs::path folder = fs::path(devices) / device;
    const std::vector<int> numbers = numbered_entries((folder / "ports").string(), "");
    for (const int number : is_virtual_function(folder.string()) ? std::vector<int>() : numbers) {
      const fs::path port = folder / "ports" / std::to_string(number);
      const std::string name = numbers.size() == 1 ? device : (fs::path(device) / port.filename()).string();
      ports[name] = describe_port(port.string());
    }
  }
}

/// The interfaces by which routes leave this host: others may have no cable on a healthy node.
std::vector<std::string> routed_interfaces(const std::string& root) {
  constexpr int kMostLines = 256;
  std::vector<std::string> names;
  std::ifstream file(root + "/proc/net/route");
  std::string line;
  std::getline(file, line);  // the names of the columns
  for (int i = 0; i < kMostLines && std::getline(file, line); ++i) {
    std::string name = line.substr(0, line.find_first_of(" \t"));
    if (!contains(names, name)) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

/// Interfaces with hardware, and the one that a container is given. All others come and go with their users.
void add_interfaces(Facts& facts, const std::string& root) {
  constexpr double kMegabitsPerGigabit = 1'000;
  if (!can_list(root + "/sys/class/net") || first_line(root + "/proc/net/route").empty()) {
    return;
  }
  Facts::Set& interfaces = facts.sets["interface"];
  for (const std::string& name : routed_interfaces(root)) {
    const std::string folder = (fs::path(root + "/sys/class/net") / name).string();
    std::error_code failed;  // then it has none
    const bool is_physical = fs::exists(folder + "/device", failed);
    const auto mtu = parse_integer(first_line(folder + "/mtu"), 1, 1'000'000);
    if ((!is_physical && name != "eth0") || is_virtual_function(folder) || !mtu) {
      continue;
    }
    const auto speed = parse_integer(first_line(folder + "/speed"), 1, 100'000'000);
    const std::string gigabits = !speed ? ""
                                 : *speed % static_cast<int>(kMegabitsPerGigabit) == 0
                                     ? std::to_string(*speed / static_cast<int>(kMegabitsPerGigabit)) + " Gb/s, "
                                     : two_decimals(*speed / kMegabitsPerGigabit) + " Gb/s, ";
    interfaces[name] = gigabits + "MTU " + std::to_string(*mtu);
  }
}

// --- Memory, room, limits -------------------------------------------------------------------------

void add_memory(Facts& facts, const FactSources& sources) {
  constexpr double kKibibyte = 1'024;
  const auto fields = read_fields(sources.root + "/proc/meminfo");
  if (const auto total = fields.find("MemTotal"); total != fields.end()) {
    facts.numbers["memory"] = std::strtod(total->second.c_str(), nullptr) * kKibibyte;
  }
  facts.numbers["memory limit"] = sources.memory_limit == 0 ? kNoLimit : static_cast<double>(sources.memory_limit);
  struct statvfs shared {};
  if (::statvfs((sources.root + "/dev/shm").c_str(), &shared) == 0) {
    facts.numbers["/dev/shm"] = static_cast<double>(shared.f_blocks) * static_cast<double>(shared.f_frsize);
  }
}

/// Reads the soft limit in a line "Max processes   2061510   2061510   processes".
std::optional<double> limit_in(const std::string& line, std::string_view name) {
  if (!line.starts_with(name)) {
    return std::nullopt;
  }
  const std::string_view rest = trim(std::string_view(line).substr(name.size()));
  return rest.starts_with("unlimited") ? kNoLimit : std::strtod(std::string(rest).c_str(), nullptr);
}

void add_limits(Facts& facts, const FactSources& sources) {
  std::ifstream file(sources.root + "/proc/self/limits");
  for (std::string line; std::getline(file, line);) {
    if (const auto processes = limit_in(line, "Max processes")) {
      facts.numbers["processes"] = *processes;
    } else if (const auto memory = limit_in(line, "Max locked memory")) {
      facts.numbers["locked memory"] = *memory;
    }
  }
  facts.numbers["open files"] = std::min(sources.open_files, kNoLimit);
  facts.numbers["CPUs"] = sources.cpus;
}

}  // namespace

Facts read_facts(const FactSources& sources) {
  Facts facts;
  add_text(facts, "muster", sources.version);
  add_text(facts, "kernel", first_line(sources.root + "/proc/sys/kernel/osrelease"));
  add_text(facts, "governor", first_line(sources.root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  add_drivers(facts, sources.root);
  add_toolkits(facts, sources.root);
  add_python(facts, sources.root, sources.interpreter);
  add_devices(facts, sources.root);
  add_ports(facts, sources.root);
  add_interfaces(facts, sources.root);
  add_memory(facts, sources);
  add_limits(facts, sources);
  facts.numbers["clock"] = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return facts;
}

Facts read_room(const std::map<std::string, std::string>& folders) {
  Facts facts;
  for (const FactRow& row : fact_rows()) {
    const auto folder = folders.find(std::string(row.name));
    struct statvfs place {};
    if (folder != folders.end() && ::statvfs(folder->second.c_str(), &place) == 0) {
      facts.numbers[row.name] = static_cast<double>(place.f_bavail) * static_cast<double>(place.f_frsize);
    }
  }
  return facts;
}

}  // namespace muster::preflight
