// What a script for sbatch needs besides: numbers as Slurm writes them, and words of a shell.
#include "render/kinds.hpp"
#include "render/words.hpp"

#include "base/text.hpp"
#include "render/quantity.hpp"

namespace muster::render {
namespace {

constexpr std::int64_t kThousandths = 1000;

/// Whole CPUs, at least one.
std::string cpus_of(const std::string& quantity) {
  const auto cpus = parse_quantity(quantity);
  return cpus ? std::to_string((*cpus + kThousandths - 1) / kThousandths) : "";
}

/// Mebibytes, which Slurm calls M.
std::string memory_of(const std::string& quantity) {
  constexpr std::int64_t kMebibyte = kThousandths << 20U;
  const auto bytes = parse_quantity(quantity);
  return bytes ? std::to_string((*bytes - 1) / kMebibyte + 1) + "M" : "";
}

/// "1-02:03:04"
std::string time_of(int seconds) {
  constexpr int kMinute = 60;
  constexpr int kHour = 60 * kMinute;
  constexpr int kDay = 24 * kHour;
  const auto two = [](int number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  return std::to_string(seconds / kDay) + "-" + two(seconds % kDay / kHour) + ":" +
         two(seconds % kHour / kMinute) + ":" + two(seconds % kMinute);
}

}  // namespace

void add_slurm_values(Values& values, const ManifestRequest& request) {
  const PodNeeds& needs = request.needs;
  values["gres"] =
      needs.devices > 0 ? needs.device_resource + ":" + std::to_string(needs.devices) : "";
  values["workers"] = needs.devices > 0 ? std::to_string(needs.devices) : "";
  values["cpus"] = cpus_of(needs.cpus);
  values["memory"] = memory_of(needs.memory);
  values["whole_node"] = needs.cpus.empty() ? "exclusive" : "";
  values["all_memory"] = needs.memory.empty() ? "0" : "";
  values["time"] = request.time_limit ? time_of(*request.time_limit) : "";
  values["requeue"] = request.is_expedited ? "requeue=expedite" : "requeue";
  values["notice"] = std::to_string(request.grace + kGraceMargin);
  // Without one muster takes a port of the step's own.
  values["port"] = request.port ? std::to_string(*request.port) : "";
  values["container"] = request.image.empty() ? "" : shell_word(request.image);
  values["token"] = request.token == TokenFrom::Platform
                        ? std::string(trim(fill_file("slurm-token.sh", {})))
                        : "";
  values["restart_codes"] = join(restart_codes(), " | ");
  values["words"] = shell_line(request.arguments);
}

}  // namespace muster::render
