// Values of a script for a batch system: numbers in the notations of Slurm, PBS and LSF, and words of a shell.
#include "base/lists.hpp"
#include "base/text.hpp"
#include "render/check_fit.hpp"
#include "render/manifest.hpp"

#include <cstdint>

namespace muster::render {
namespace {

constexpr std::int64_t kThousandths = 1000;
constexpr int kMinute = 60;

std::int64_t rounded_up(std::int64_t amount, std::int64_t unit) {
  return (amount + unit - 1) / unit;
}

/// Rounds up to whole CPUs.
std::string cpus_of(const std::string& quantity) {
  const auto cpus = parse_quantity(quantity);
  return cpus ? std::to_string(rounded_up(*cpus, kThousandths)) : "";
}

/// Rounds up to mebibytes.
std::string mebibytes_of(const std::string& quantity) {
  constexpr std::int64_t kMebibyte = kThousandths << 20U;
  const auto bytes = parse_quantity(quantity);
  return bytes ? std::to_string((*bytes - 1) / kMebibyte + 1) : "";
}

/// Slurm's notation of a duration: "1-02:03:04".
std::string time_of(int seconds) {
  constexpr int kHour = 60 * kMinute;
  constexpr int kDay = 24 * kHour;
  const auto two = [](int number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  return std::to_string(seconds / kDay) + "-" + two(seconds % kDay / kHour) + ":" + two(seconds % kHour / kMinute) +
         ":" + two(seconds % kMinute);
}

/// "/data:/data:ro,/scratch:/scratch", as Pyxis takes them.
std::string mounts_of(const std::vector<Volume>& volumes) {
  const auto mounts =
      mapped(volumes, [](const Volume& one) { return one.source + ":" + one.path + (one.is_read_only ? ":ro" : ""); });
  return join(mounts, ",");
}

/// The accelerators and the further resources, such as "gpu:8,rdma:1": `between` joins name and number, `behind` all.
std::string counted_resources(const PodNeeds& needs, std::string_view between, std::string_view behind) {
  std::vector<std::string> all;
  if (needs.devices > 0) {
    all.push_back(needs.device_resource + std::string(between) + std::to_string(needs.devices));
  }
  for (const NamedText& one : needs.resources) {
    all.push_back(one.name + std::string(between) + one.value);
  }
  return join(all, behind);
}

void add_slurm_values(Values& values, const ManifestRequest& request) {
  const PodNeeds& needs = request.needs;
  values["gres"] = counted_resources(needs, ":", ",");
  values["memory"] = needs.memory.empty() ? "" : mebibytes_of(needs.memory) + "M";
  values["whole_node"] = needs.cpus.empty() ? "exclusive" : "";
  values["all_memory"] = needs.memory.empty() ? "0" : "";
  values["time"] = request.time_limit ? time_of(*request.time_limit) : "";
  values["requeue"] = request.is_expedited ? "requeue=expedite" : "requeue";
  values["container"] = request.image.empty() ? "" : shell_word(request.image);
  values["mounts"] = request.volumes.empty() ? "" : shell_word(mounts_of(request.volumes));
  values["token"] = request.token == TokenFrom::Platform ? fill_file("slurm-token.sh", {}) : "";
  values["restart_codes"] = join(restart_codes(), " | ");
  if (request.grace) {  // else muster ends before the KillWait of Slurm, which is as long as the usual grace
    values["words"] = "--grace " + std::to_string(*request.grace) + " " + values["words"];
  }
}

/// PBS gives a job whole nodes only by "excl". Without a number of CPUs, as many as workers are requested.
void add_pbs_values(Values& values, const ManifestRequest& request) {
  const PodNeeds& needs = request.needs;
  const std::string resources = counted_resources(needs, "=", ":");
  values["chunk"] = "ncpus=" + cpus_of(requested_cpus(needs)) + ":mpiprocs=1" +
                    (needs.memory.empty() ? "" : ":mem=" + mebibytes_of(needs.memory) + "mb") +
                    (resources.empty() ? "" : ":" + resources);
  values["place"] = needs.cpus.empty() ? "scatter:excl" : "scatter";
}

/// LSF has an option of its own for GPUs of NVIDIA and AMD; all other resources are those of the site.
void add_lsf_values(Values& values, const ManifestRequest& request) {
  PodNeeds needs = request.needs;
  const bool has_gpus = needs.devices > 0 && needs.device_resource == "gpu";
  values["gpus"] = has_gpus ? std::to_string(needs.devices) : "";
  needs.devices = has_gpus ? 0 : needs.devices;
  std::string usage = counted_resources(needs, "=", ":");
  if (!needs.memory.empty()) {
    usage += (usage.empty() ? "mem=" : ":mem=") + mebibytes_of(needs.memory) + "MB";
  }
  values["cpu_list"] = needs.cpus.empty() ? "" : " affinity[core(" + cpus_of(needs.cpus) + ")]";
  values["requirements"] = "span[ptile=1]" + values["cpu_list"] + (usage.empty() ? "" : " rusage[" + usage + "]");
  values["whole_node"] = needs.cpus.empty() ? "-x" : "";
  values["minutes"] = request.time_limit ? std::to_string(rounded_up(*request.time_limit, kMinute)) : "";
  values["notice_minutes"] =
      request.time_limit ? std::to_string(rounded_up(grace_of(request) + kGraceMargin, kMinute)) : "";
  values["restart_codes"] = join(restart_codes(), " ");
}

/// The lines that set the user's variables.
std::string exports_of(const std::vector<NamedText>& environment) {
  const auto lines =
      mapped(environment, [](const NamedText& one) { return "export " + one.name + "=" + shell_word(one.value); });
  return join(lines, "\n");
}

}  // namespace

void add_script_values(Values& values, const ManifestRequest& request) {
  const PodNeeds& needs = request.needs;
  values["cpus"] = cpus_of(needs.cpus);
  values["workers"] = needs.devices > 0 ? std::to_string(needs.devices) : "";
  values["notice"] = std::to_string(grace_of(request) + kGraceMargin);
  // Without a port muster uses one from the job's number.
  values["port"] = request.port ? std::to_string(*request.port) : "";
  values["priority_class"] = request.priority_class;
  values["environment"] = exports_of(request.environment);
  values["forwarded"] = names_of(request.environment);
  std::string& patch = values["patch"] = trim(request.patch);
  replace_all(patch, "\r\n", "\n");  // a shell would take the '\r' for a part of a word
  values["words"] = shell_line(request.arguments);
  if (request.kind == "slurm") {
    add_slurm_values(values, request);
  } else if (request.kind == "pbs") {
    add_pbs_values(values, request);
  } else {
    add_lsf_values(values, request);
  }
}

}  // namespace muster::render
