// Implements muster's roles below mpirun: the remote shell, its daemon on another node, and the wrapper of a rank.
#include "services/mpi/mpi_roles.hpp"

#include "base/endpoint.hpp"
#include "base/file_io.hpp"
#include "base/text.hpp"
#include "gang/net/listener.hpp"
#include "modes/agent_call.hpp"
#include "modes/ssh_files.hpp"
#include "process/spawn.hpp"
#include "services/mpi/mpi_link.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

namespace muster {
namespace {

/// Time for a daemon to begin to listen; enough, because the nodes of a job start at nearly the same time.
constexpr std::chrono::seconds kDaemonTimeout{30};

Result<std::string> variable_of(const MpiRoleInput& input, const char* name) {
  const auto found = input.variables.find(name);
  return found == input.variables.end() || found->second.empty()
             ? Error{ErrorKind::BadUsage, std::string("this command is for muster itself, which sets ") + name}
             : Result<std::string>(found->second);
}

/// Restores what muster changed at its start: signals, and the limit of descriptors.
void give_back(const Inherited& inherited) {
  restore_ignored_signals(inherited);
  if (inherited.descriptors) {
    (void)::setrlimit(RLIMIT_NOFILE, &*inherited.descriptors);
  }
  release_signals(inherited);
}

/// Execs the program. Returns only if that fails.
Error become(const std::vector<std::string>& words, const std::map<std::string, std::string>& variables,
             const Inherited& inherited) {
  const std::vector<std::string> entries = environment_entries(variables);
  give_back(inherited);
  ::execvpe(words.front().c_str(), pointers(words).data(), pointers(entries).data());
  const int error_number = errno;
  return Error{error_number == ENOENT ? ErrorKind::NotFound : ErrorKind::NotExecutable,
               system_error("cannot start '" + words.front() + "'", error_number).message};
}

/// Endpoint of the daemon of `host`. The list of daemons has all hosts but the first.
Result<std::string> find_daemon(const std::string& host, const MpiRoleInput& input) {
  const auto path = TRY(variable_of(input, mpi::variable::kHostfile));
  const auto daemons = TRY(variable_of(input, mpi::variable::kDaemons));
  const std::string hostfile = read_regular_file(path).value_or("");
  const std::vector<std::string> endpoints = split(daemons, ',');
  const int line = mpi::find_in_hostfile(hostfile, host);
  if (line < 1 || static_cast<std::size_t>(line) > endpoints.size()) {
    return Error{ErrorKind::System, "it is not one of the other nodes of this job"};
  }
  return endpoints[static_cast<std::size_t>(line) - 1];
}

/// Connects to a daemon and has it run the command.
Result<UniqueFd> start_there(const mpi::AgentCall& call, const MpiRoleInput& input) {
  const auto secret = TRY(variable_of(input, mpi::variable::kSecret));
  const auto endpoint = TRY(find_daemon(call.host, input));
  const Deadline deadline(kDaemonTimeout);
  auto link = TRY(connect_to(endpoint, deadline));
  TRY(ask_for_command(link.get(), secret, call.command, deadline));
  return link;
}

}  // namespace

MpiRole find_mpi_role(std::span<char* const> argv) {
  constexpr std::pair<std::string_view, MpiRole> kRoles[] = {
      {mpi::kAgentWord, serve_as_agent},
      {mpi::kDaemonWord, serve_as_daemon},
      {mpi::kRankWord, serve_as_rank},
  };
  for (const auto& [word, role] : kRoles) {
    if (argv.size() > 1 && word == argv[1]) {
      return role;
    }
  }
  return nullptr;
}

Result<int> serve_as_agent(const MpiRoleInput& input) {
  release_signals(input.inherited);  // so that mpirun can end it
  const auto call = TRY(mpi::parse_agent_call(input.words));
  const auto link = start_there(call, input);
  if (!link) {
    return Error{link.error().kind, "cannot start mpirun's daemon on '" + call.host + "': " + link.error().message};
  }
  (void)::shutdown(link->get(), SHUT_WR);
  (void)::fcntl(link->get(), F_SETFL, 0);  // blocking
  char byte = 0;
  while (::recv(link->get(), &byte, 1, 0) < 0 && errno == EINTR) {
  }
  return 0;
}

Result<int> serve_as_daemon(const MpiRoleInput& input) {
  const auto secret = TRY(variable_of(input, mpi::variable::kSecret));
  const auto endpoint = TRY(variable_of(input, mpi::variable::kEndpoint));
  const auto port = parse_integer(split_endpoint(endpoint).port.value_or(""), 1, kMostPort);
  // The socket that has the port reserved stays beside this one.
  const auto listener = gang::listen_everywhere(static_cast<std::uint16_t>(port.value_or(0)));
  if (!listener) {
    return listener.error().error;
  }
  release_signals(input.inherited);  // so that signals end it while it waits
  const auto asked = TRY(wait_for_command(listener->fd, secret));
  const auto& [link, command] = asked;
  // The command inherits the link, which ends with the last process that has it.
  (void)::fcntl(link.get(), F_SETFD, 0);
  auto variables = input.variables;
  variables.erase(mpi::variable::kSecret);
  variables.erase(mpi::variable::kEndpoint);
  variables.merge(mpi::with_shell_names(variables));
  return become({"/bin/sh", "-c", command}, variables, input.inherited);
}

Result<int> serve_as_rank(const MpiRoleInput& input) {
  if (input.words.empty()) {
    return Error{ErrorKind::BadUsage, "there is no program after " + std::string(mpi::kRankWord)};
  }
  return become(input.words, mpi::environment_of_mpi_rank(input.variables), input.inherited);
}

}  // namespace muster
