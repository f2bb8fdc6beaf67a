// Answers `muster render`, also with --check-fit.
#include "base/file_io.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "options/settings.hpp"
#include "render/check_fit.hpp"
#include "render/patch.hpp"
#include "subcommands.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace muster {

Result<int> run_render(const CommandLine& line, const Snapshot& /*snapshot*/, const Inherited& /*inherited*/) {
  if (line.settings.has("check-fit")) {
    return check_fit(line.settings);
  }
  const auto request = TRY(read_manifest_request(line));
  const auto memory = render::parse_quantity(request.needs.memory);
  if (memory && render::parse_quantity(request.shared_memory).value_or(0) > *memory) {
    log_warning("--shared-memory is '" + request.shared_memory + "', more than the '" + request.needs.memory +
                "' of --memory: what /dev/shm holds counts as memory, so a container dies before its /dev/shm is full");
  }
  const auto manifest = render::render_manifest(request);
  const auto grace =
      manifest && render::is_of_kubernetes(request.kind) ? render::grace_in_patch(request.patch) : std::nullopt;
  if (grace && *grace < render::grace_of(request)) {
    log_warning(request.patch_name + ": terminationGracePeriodSeconds is " + std::to_string(*grace) +
                ", less than the " + std::to_string(render::grace_of(request)) +
                " s of --grace: Kubernetes kills the workers before their grace is over");
  }
  const auto printed = print(manifest);
  const std::string command = render::is_of_kubernetes(request.kind) ? render::token_command(request) : "";
  if (printed && !command.empty() && ::isatty(STDOUT_FILENO) == 0) {  // nobody reads the comment in a pipe
    log_info("before the first job: " + command);
  }
  return printed;
}

// Answers `muster render --check-fit`: reads the output of kubectl, and reports whether the gang fits.

namespace {

/// Exit code for a cluster that is too small now: submit the job later.
constexpr int kDoesNotFit = 75;
constexpr std::size_t kDeepest = 256;

Error no_json(const std::string& name, const std::string& why) {
  return Error{ErrorKind::BadData,
               name + " is no JSON (" + why + "), expected what 'kubectl get nodes -o json' prints"};
}

/// Feeds the parser in chunks until the end of the file, because the pods of a cluster may be hundreds of megabytes.
Result<> feed(json::stream_parser& parser, int fd, const std::string& name) {
  constexpr std::size_t kPiece = std::size_t{1} << 18U;
  std::vector<char> piece(kPiece);
  boost::system::error_code error;
  for (;;) {
    const ssize_t taken = ::read(fd, piece.data(), piece.size());
    if (taken < 0 && errno != EINTR) {
      return system_error("cannot read '" + name + "'", errno);
    }
    if (taken == 0) {
      parser.finish(error);
      return error ? Result<>(no_json(name, error.message())) : Result<>();
    }
    parser.write(piece.data(), taken > 0 ? static_cast<std::size_t>(taken) : 0, error);
    if (error) {
      return no_json(name, error.message());
    }
  }
}

std::string name_of(const Sourced<std::string>& file) {
  return file.value == "-" ? "standard input" : file.value;
}

Result<> add_file(render::ClusterState& state, const Sourced<std::string>& given) {
  const bool is_input = given.value == "-";
  const std::string name = name_of(given);
  const UniqueFd file(is_input ? -1 : ::open(given.value.c_str(), O_RDONLY | O_CLOEXEC));
  if (!is_input && !file) {
    const Error error = system_error(given.source.name + " is '" + name + "'", errno);
    return Error{ErrorKind::BadData, error.message};
  }
  json::monotonic_resource memory;  // freed at once; nothing in it outlives this function
  json::parse_options options;
  options.max_depth = kDeepest;
  json::stream_parser parser(&memory, options);
  TRY(feed(parser, is_input ? STDIN_FILENO : file.get(), name));
  return render::add_objects(state, parser.release(), name);
}

Result<render::ClusterState> read_cluster(const Settings& settings) {
  const auto nodes = settings.find("check-fit");
  const auto pods = settings.find("pods");
  if (pods && pods->value == "-" && nodes->value == "-") {
    return Error{ErrorKind::BadUsage,
                 "--check-fit and --pods are both '-', but there is one standard input; "
                 "'kubectl get nodes,pods -A -o json' prints both at once"};
  }
  render::ClusterState state;
  for (const auto& file : {nodes, pods}) {
    TRY(file ? add_file(state, *file) : Result<>());
  }
  if (state.nodes.empty()) {
    return Error{ErrorKind::BadData,
                 name_of(*nodes) + ": it holds no node, expected what 'kubectl get nodes -o json' prints"};
  }
  return state;
}

}  // namespace

Result<int> check_fit(const Settings& settings) {
  const auto kind = settings.find(kRenderKind);
  const std::string name = kind ? render::kind_of(kind->value) : "jobset";  // all kinds have the same pods
  if (name.empty() || !render::is_of_kubernetes(name)) {
    return wrong_value(*kind, "one that Kubernetes is given, or none");
  }
  const int nodes = TRY(read_nodes(settings));
  render::PodNeeds needs;
  TRY(read_needs(needs, settings, name));
  const auto state = TRY(read_cluster(settings));
  const render::Fit fit = render::check_fit(state, needs, nodes);
  const auto printed = print(fit.sentences);
  return printed && fit.fitting < fit.wanted ? Result<int>(kDoesNotFit) : printed;
}

}  // namespace muster
