// The options of `muster render`, and what they say. Nothing else of muster has them.
#include "render.hpp"

#include <muster/base/text.hpp>
#include <muster/options/syntax.hpp>
#include <muster/options/texts.hpp>
#include <muster/options/typed_settings.hpp>
#include <muster/render/names.hpp>

#include <algorithm>
#include <array>

namespace muster {
namespace {

using render::ManifestRequest;

constexpr int kMostNodes = 100'000;
constexpr int kMostDevices = 4'096;
constexpr int kMostSeconds = 365 * 24 * 60 * 60;

constexpr auto kTable = std::to_array<Option>({
    {"name", '\0', "NAME", "Job", "Name of the job, and what its pods' names begin with."},
    {"image", '\0', "IMAGE", "Job", "Image that holds muster and the program."},
    {"nodes", '\0', "N", "Job", "Nodes of the job, each a pod. Default: 1."},
    {"grace",
     '\0',
     "SECONDS",
     "Job",
     "Time between asking workers to end and killing them. The platform is told to leave 15 s "
     "more. "
     "Default: 30."},
    {"restarts",
     '\0',
     "N",
     "Job",
     "How often the platform may start the whole job again where muster's exit code says that it "
     "may "
     "help. Default: 3."},
    {"time-limit",
     '\0',
     "SECONDS",
     "Job",
     "When the platform ends the job. Default: its own limit."},
    {"port",
     '\0',
     "PORT",
     "Job",
     "Port on the first node where the agents meet. Default: 29500; for slurm one made of the "
     "job's "
     "number."},
    {"no-token",
     '\0',
     nullptr,
     "Job",
     "Agents share no secret: whoever reaches the port can join."},
    {"devices", '\0', "N", "Each node", "Accelerators, and so many workers. Default: 8."},
    {"device-kind",
     '\0',
     "KIND",
     "Each node",
     "Whose: nvidia (the default), ascend or amd.",
     "nvidia ascend amd"},
    {"device-resource",
     '\0',
     "NAME",
     "Each node",
     "What the cluster calls them, such as huawei.com/ascend-1980, or gpu:a100 for slurm. Default: "
     "nvidia.com/gpu, huawei.com/Ascend910, amd.com/gpu; for slurm gpu or npu."},
    {"cpus", '\0', "N", "Each node", "CPUs. Default: not said; for slurm the whole node."},
    {"memory", '\0', "SIZE", "Each node", "Memory, such as 512Gi. Default: as for CPUs."},
    {"queue",
     '\0',
     "NAME",
     "Scheduling",
     "Queue that admits the job: a partition of slurm, a queue of volcano, else a LocalQueue of "
     "Kueue."},
    {"help", 'h', nullptr, "Help", "Print this text."},
});

constexpr auto kOtherNames = std::to_array<OtherName>({
    {"nnodes", "nodes"},
    {"N", "nodes"},
    {"n", "nodes"},
    {"nproc-per-node", "devices"},
    {"gpus", "devices"},
    {"gres", "device-resource"},
    {"partition", "queue"},
    {"mem", "memory"},
    {"time", "time-limit"},
});

constexpr const char* kIntroduction =
    R"(Usage: muster render KIND --name NAME [options] -- program [arguments...]

Prints a manifest that starts one agent of muster on each node, all of them or none, and that does
with the job's exit code what docs/exit-codes.md advises. What stands behind '--' is what would stand
behind 'muster': options of muster, a program, its arguments. They arrive as they are, byte for byte.

Kinds:
  slurm        a script for sbatch
  dockerfile   an image with muster in it

Examples:
  muster render slurm --name train --nodes 4 -- train.py --epochs 3 > train.sbatch
  muster render dockerfile --image train:1.0 -- train.py > Dockerfile
)";

/// Of each kind of accelerator, what a resource of it is called where nobody says anything.
struct DeviceNames {
  std::string_view kind;
  const char* of_kubernetes;
  const char* of_slurm;
};
constexpr auto kDeviceNames = std::to_array<DeviceNames>({
    {"nvidia", "nvidia.com/gpu", "gpu"},
    {"ascend", "huawei.com/Ascend910", "npu"},
    {"amd", "amd.com/gpu", "gpu"},
});

std::string spelled(const Option& option) {
  std::string text = option.letter != '\0' ? std::string("-") + option.letter + ", " : "    ";
  text += "--" + std::string(option.name);
  return option.argument == nullptr ? text : text + " " + option.argument;
}

/// A number in digits, from `least` to `most`.
struct Bounds {
  int least;
  int most;
  const char* what;
};

Result<> read_number(int& target,
                     const Settings& settings,
                     const char* name,
                     const Bounds& bounds) {
  const auto given = settings.find(name);
  if (!given) {
    return {};
  }
  const auto number = parse_integer(given->value, bounds.least, bounds.most);
  if (!number) {
    return wrong_value(*given,
                       std::string(bounds.what) + " from " + std::to_string(bounds.least) + " to " +
                           std::to_string(bounds.most));
  }
  target = *number;
  return {};
}

Result<> read_number(std::optional<int>& target,
                     const Settings& settings,
                     const char* name,
                     const Bounds& bounds) {
  int number = 0;
  auto read = read_number(number, settings, name, bounds);
  if (read && settings.has(name)) {
    target = number;
  }
  return read;
}

/// Reads a text by `reader`; leaves the target as it is when nothing is given.
template <typename Target, typename Reader>
Result<> read_text(Target& target, const Settings& settings, const char* name, Reader reader) {
  const auto given = settings.find(name);
  if (!given) {
    return {};
  }
  auto value = reader(*given);
  if (!value) {
    return value.error();
  }
  target = std::move(*value);
  return {};
}

Error missing(const std::string& option, const std::string& what) {
  return Error{ErrorKind::BadUsage, option + " is missing: " + what};
}

Result<std::string> read_kind(const Settings& settings) {
  const auto& kinds = render::manifest_kinds();
  const auto kind = settings.find(kRenderKind);
  if (!kind) {
    return missing(kRenderKind, "write one of " + join(kinds, ", ") + " behind 'muster render'");
  }
  if (std::find(kinds.begin(), kinds.end(), kind->value) == kinds.end()) {
    const auto nearest = nearest_name(kind->value, kinds);
    return wrong_value(
        *kind,
        "one of " + join(kinds, ", ") + (nearest ? "; did you mean '" + *nearest + "'?" : ""));
  }
  return kind->value;
}

Result<> read_names(ManifestRequest& request, const Settings& settings) {
  const bool is_image_file = request.kind == "dockerfile";
  if (!settings.has("name") && !is_image_file) {
    return missing("--name", "the name of the job, such as --name train");
  }
  if (!settings.has("image") && request.kind != "slurm") {
    return missing("--image", "the image that holds muster and the program");
  }
  request.name = "train";
  const std::size_t room = 63 - render::last_suffix(request.kind, request.nodes).size();
  const auto name_reader = [room](const auto& text) { return render::read_name(text, room); };
  if (auto read = read_text(request.name, settings, "name", name_reader); !read) {
    return read;
  }
  if (auto read = read_text(request.queue, settings, "queue", render::read_queue); !read) {
    return read;
  }
  return read_text(request.image, settings, "image", render::read_image);
}

Result<> read_device_resource(render::PodNeeds& needs,
                              const Settings& settings,
                              bool is_of_kubernetes) {
  const auto kind = settings.find("device-kind").value_or(Sourced<std::string>{"nvidia", Source()});
  const auto names = std::find_if(kDeviceNames.begin(),
                                  kDeviceNames.end(),
                                  [&](const DeviceNames& one) { return one.kind == kind.value; });
  if (names == kDeviceNames.end()) {
    return wrong_value(kind, "nvidia, ascend or amd");
  }
  needs.device_resource = is_of_kubernetes ? names->of_kubernetes : names->of_slurm;
  return read_text(needs.device_resource,
                   settings,
                   "device-resource",
                   is_of_kubernetes ? render::read_resource : render::read_gres);
}

Result<> read_needs(render::PodNeeds& needs, const Settings& settings, bool is_of_kubernetes) {
  constexpr int kUsualDevices = 8;
  needs.devices = kUsualDevices;
  if (auto read = read_number(
          needs.devices, settings, "devices", {0, kMostDevices, "a number of accelerators"});
      !read) {
    return read;
  }
  if (auto read = read_device_resource(needs, settings, is_of_kubernetes); !read) {
    return read;
  }
  if (auto read = read_text(needs.cpus, settings, "cpus", render::read_quantity); !read) {
    return read;
  }
  return read_text(needs.memory, settings, "memory", render::read_quantity);
}

Result<> read_ends(ManifestRequest& request, const Settings& settings) {
  constexpr int kMostRestarts = 1'000;
  if (auto read = read_number(request.grace, settings, "grace", {0, kMostSeconds, "whole seconds"});
      !read) {
    return read;
  }
  if (auto read = read_number(
          request.restarts, settings, "restarts", {0, kMostRestarts, "a number of restarts"});
      !read) {
    return read;
  }
  if (auto read = read_number(request.port, settings, "port", {1, 65535, "a port"}); !read) {
    return read;
  }
  return read_number(
      request.time_limit, settings, "time-limit", {1, kMostSeconds, "whole seconds"});
}

/// What the manifest says itself must not be said otherwise to muster.
Result<> check_words(const ManifestRequest& request) {
  if (request.arguments.empty()) {
    return request.kind == "dockerfile"
               ? Result<>()
               : missing("the program", "it stands behind '--', with its arguments");
  }
  const auto settings = read_settings_of(request.arguments);
  if (!settings) {
    return Error{ErrorKind::BadUsage, "behind '--': " + settings.error().message};
  }
  for (const auto& [theirs, ours] : std::to_array<std::pair<const char*, const char*>>(
           {{"grace", "--grace"}, {"nnodes", "--nodes"}, {"master-port", "--port"}})) {
    if (const auto given = settings->find(theirs)) {
      return Error{ErrorKind::BadUsage,
                   given->source.name +
                       " stands behind '--', but the manifest has to agree with "
                       "it; give " +
                       ours + " in front of '--'"};
    }
  }
  return {};
}

}  // namespace

OptionTable render_options() {
  return {kTable, {}, kOtherNames, "muster render"};
}

std::string render_help() {
  std::string text = kIntroduction;
  std::string_view section;
  for (const Option& option : kTable) {
    if (section != option.section) {
      section = option.section;
      text += "\n" + std::string(section) + ":\n";
    }
    text += help_entry(spelled(option), option.help);
  }
  return text;
}

Result<ManifestRequest> read_manifest_request(const CommandLine& line) {
  const Settings& settings = line.settings;
  ManifestRequest request;
  const auto kind = read_kind(settings);
  if (!kind) {
    return kind.error();
  }
  request.kind = *kind;
  request.arguments = line.program;
  if (!is_on(settings, "no-token")) {
    request.token = request.name + "-token";
  }
  const bool is_of_kubernetes = render::is_of_kubernetes(request.kind);
  for (const Result<>& read : {
           read_number(request.nodes, settings, "nodes", {1, kMostNodes, "a number of nodes"}),
           read_names(request, settings),
           read_needs(request.needs, settings, is_of_kubernetes),
           read_ends(request, settings),
           check_words(request),
       }) {
    if (!read) {
      return read.error();
    }
  }
  return request;
}

}  // namespace muster
