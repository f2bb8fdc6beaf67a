// Finds control sockets in run directories and talks to them with blocking calls: for commands, not for agents.
#include "base/display_text.hpp"
#include "base/file_io.hpp"
#include "base/text.hpp"
#include "control/control.hpp"
#include "control/status.hpp"
#include "environment/local_host.hpp"
#include "environment/mounted_files.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <system_error>
#include <utility>

namespace muster::control {

namespace {

using Clock = std::chrono::steady_clock;

/// Limit of an answer: jobs with thousands of nodes send megabytes.
constexpr std::size_t kMostAnswerBytes = std::size_t{64} << 20U;
/// Limit of the answer to a hello, which may be a stranger's.
constexpr std::size_t kMostHelloBytes = std::size_t{64} << 10U;
/// Limit for the hellos to all agents together.
constexpr std::chrono::seconds kHelloTimeout{2};
/// Limit of the folders of one other user that are searched: each takes a descriptor.
constexpr int kMostOfOtherUser = 64;
constexpr std::string_view kFolderStart = "muster_";

constexpr const char* kDoesNotAnswer = "does not answer";

Error no_answer(const std::string& socket) {
  return {ErrorKind::Incomplete, "the job at '" + socket + "' " + kDoesNotAnswer};
}

/// Says what the user can do: the guard ends a job whose agent stands still, once it gets SIGTERM.
Error no_answer(const FoundAgent& agent) {
  Error error = no_answer(agent.socket);
  if (agent.pid > 0 && agent.peer.pid > 0) {
    error.message += "; 'kill -CONT " + std::to_string(agent.peer.pid) + "' wakes an agent that was stopped, 'kill " +
                     std::to_string(agent.pid) + "' ends the job in any case";
  }
  return error;
}

Error has_ended(const std::string& socket) {
  return {ErrorKind::Incomplete, "the job at '" + socket + "' ended before it answered"};
}

/// A connection to a control socket.
struct Connection {
  UniqueFd fd;
  ucred peer = {};  ///< who listens
};

/// Never waits. Returns 0 or an errno.
int connect_to(const std::string& path, Connection& made) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return ENAMETOOLONG;
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  made.fd = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  socklen_t size = sizeof(made.peer);
  const bool is_made = made.fd &&
                       ::connect(made.fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
                       ::getsockopt(made.fd.get(), SOL_SOCKET, SO_PEERCRED, &made.peer, &size) == 0;
  return is_made ? 0 : errno;
}

/// True for the errors of a connection whose muster has ended.
bool is_gone(int error_number) {
  return error_number == ENOENT || error_number == ECONNREFUSED;
}

Error connect_error(const std::string& socket, int error_number) {
  return is_gone(error_number)    ? has_ended(socket)
         : error_number == EAGAIN ? no_answer(socket)
                                  : system_error("cannot connect to '" + socket + "'", error_number);
}

/// Polls until the descriptor is ready for `events`. False: timed out.
bool wait_for(int fd, short events, Clock::time_point until) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    pollfd ready{fd, events, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (count > 0) {
      return true;
    }
    if (count == 0 || errno != EINTR) {
      return false;
    }
  }
}

Result<> send_line(int fd, std::string_view line, const std::string& socket, Clock::time_point until) {
  while (!line.empty()) {
    const ssize_t sent = ::send(fd, line.data(), line.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      line.remove_prefix(static_cast<std::size_t>(sent));
    } else if ((errno != EAGAIN && errno != EINTR) || !wait_for(fd, POLLOUT, until)) {
      return no_answer(socket);
    }
  }
  return {};
}

/// Appends what has arrived. True: `received` is the whole line, without its end.
Result<bool> receive_some(int fd, std::string& received, std::size_t most, const std::string& socket) {
  std::array<char, 65536> chunk{};
  const ssize_t size = ::recv(fd, chunk.data(), chunk.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
    return false;
  }
  if (size <= 0) {
    return has_ended(socket);
  }
  received.append(chunk.data(), static_cast<std::size_t>(size));
  if (received.ends_with('\n')) {
    received.pop_back();
    return true;
  }
  return received.size() < most ? Result<bool>(false)
                                : Error{ErrorKind::Incomplete, "the answer of the job at '" + socket + "' is too long"};
}

Result<std::string> receive_line(int fd, const FoundAgent& agent, Clock::time_point until) {
  std::string received;
  while (wait_for(fd, POLLIN, until)) {
    if (TRY(receive_some(fd, received, kMostAnswerBytes, agent.socket))) {
      return received;
    }
  }
  return no_answer(agent);
}

/// A control socket that is being asked which job it is.
struct Greeting {
  std::string socket;
  uid_t folder_owner = 0;
  Connection connection = {};
  std::string received = {};
  bool is_done = false;
};

/// Looks the process up in /proc. Empty: it has ended, or is in another pid namespace.
std::optional<SeenProcess> see_process(pid_t pid) {
  static const bool is_ours = read_fields("/proc/self/status")["Pid"] == std::to_string(::getpid());
  auto status = is_ours && pid > 0 ? read_fields("/proc/" + std::to_string(pid) + "/status")
                                   : std::map<std::string, std::string>();
  const auto number = [&](const char* field, std::size_t at) -> std::optional<int> {
    const auto words = split(status[field], '\t');
    return at < words.size() ? parse_integer(words[at], 0, std::numeric_limits<int>::max()) : std::nullopt;
  };
  const auto user = number("Uid", 1);
  const auto parent = number("PPid", 0);
  if (!user || !parent) {
    return std::nullopt;
  }
  const std::size_t namespaces = split(status["NSpid"], '\t').size();  // outermost first; none before Linux 4.1
  return SeenProcess{static_cast<uid_t>(*user), *parent,
                     namespaces > 0 ? number("NSpid", namespaces - 1).value_or(-1) : pid};
}

Result<FoundAgent> read_greeting(const Greeting& greeting) {
  const auto answer = TRY(parse_answer(greeting.received));
  const ucred& peer = greeting.connection.peer;
  const json::value* const named = answer.if_contains("pid");
  const auto pid =
      pid_of_muster({.folder_owner = greeting.folder_owner,
                     .user = peer.uid,
                     .pid = peer.pid,
                     .named = named != nullptr && named->is_int64() ? static_cast<pid_t>(named->get_int64()) : -1},
                    ::geteuid(), see_process);
  if (!pid) {
    return Error{ErrorKind::Incomplete, "'" + greeting.socket + "' does not belong to the muster that it names"};
  }
  FoundAgent agent;
  agent.socket = greeting.socket;
  agent.job_id = text_of(answer, "id");
  agent.rendezvous = text_of(answer, "rendezvous");
  agent.pid = *pid;
  agent.version = text_of(answer, "version");
  agent.program = text_of(answer, "program");
  agent.folder = text_of(answer, "folder");
  agent.state = text_of(answer, "state");
  const json::value* const nodes = answer.if_contains("nodes");
  const json::value* const since = answer.if_contains("since");
  agent.nodes = nodes != nullptr && nodes->is_int64() ? static_cast<int>(nodes->get_int64()) : 1;
  agent.since = since != nullptr && since->is_double() ? since->get_double() : 0;
  agent.peer = peer;
  return agent;
}

/// Describes an agent that listens and does not answer, such as a stopped one. Its pid is that of the muster that
/// started it, as the kernel tells, or its own. Empty: another user's process listens in this folder.
std::optional<FoundAgent> silent_agent(const Greeting& silent) {
  const ucred& peer = silent.connection.peer;
  if (silent.folder_owner != peer.uid) {
    return std::nullopt;
  }
  const auto program_of = [](pid_t pid) {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", error).string();
  };
  const auto agent = see_process(peer.pid);
  const auto parent = agent ? see_process(agent->parent) : std::nullopt;
  const std::string program = program_of(peer.pid);
  FoundAgent found;
  found.socket = silent.socket;
  found.is_silent = true;
  found.pid = parent && parent->user == peer.uid && !program.empty() && program_of(agent->parent) == program
                  ? agent->parent
                  : peer.pid;
  found.state = kDoesNotAnswer;
  found.peer = peer;
  return found;
}

/// True for the run directory of another user's muster: its content cannot be read.
bool is_of_another_user(const std::string& folder) {
  struct stat status {};
  return ::geteuid() != 0 && ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid != ::geteuid();
}

/// Finds the control sockets in a place.
void search(const std::string& place, std::vector<Greeting>& greetings, Found& found) {
  std::error_code error;  // an unreadable directory is skipped
  for (std::filesystem::directory_iterator entry(place, error), end; !error && entry != end; entry.increment(error)) {
    const std::string folder = entry->path().string();
    if (!entry->path().filename().string().starts_with(kFolderStart)) {
      continue;
    }
    if (is_of_another_user(folder)) {
      ++found.of_others;
      continue;
    }
    const std::string socket = folder + "/" + kSocketName;
    struct stat holding {};
    struct stat held {};
    if (::lstat(folder.c_str(), &holding) == 0 && ::lstat(socket.c_str(), &held) == 0 && S_ISSOCK(held.st_mode)) {
      greetings.push_back({socket, holding.st_uid});
    }
  }
}

/// Puts our own sockets first and drops too many of one other user, so that nobody's crowd hides a job.
void limit_crowds(std::vector<Greeting>& greetings, Found& found) {
  std::stable_partition(greetings.begin(), greetings.end(),
                        [&](const Greeting& greeting) { return greeting.folder_owner == found.asker; });
  std::map<uid_t, int> seen;
  const auto left_out = std::erase_if(greetings, [&](const Greeting& greeting) {
    return greeting.folder_owner != found.asker && ++seen[greeting.folder_owner] > kMostOfOtherUser;
  });
  if (left_out > 0) {
    found.refusals.push_back(count_of(left_out, "run folder") + " of users with more than " +
                             std::to_string(kMostOfOtherUser) + " run folders were not looked at");
  }
}

/// Sends a hello to each, and keeps those that can answer.
void begin(std::vector<Greeting>& greetings, Found& found) {
  std::erase_if(greetings, [&](Greeting& greeting) {
    const int failed = connect_to(greeting.socket, greeting.connection);
    const auto sent = failed != 0 ? connect_error(greeting.socket, failed)
                                  : send_line(greeting.connection.fd.get(), write_request(HelloRequest{}),
                                              greeting.socket, Clock::now());
    if (failed == EAGAIN) {  // it lives: more clients wait for it than the kernel keeps
      greeting.connection.peer.uid = greeting.folder_owner;
      found.agents.push_back(*silent_agent(greeting));
    } else if (!sent && !is_gone(failed)) {  // what a killed muster has left is no job
      found.refusals.push_back(sent.error().message);
    }
    return !sent;
  });
}

/// Reads what this agent has sent so far.
void take_answer(Greeting& greeting, Found& found) {
  const auto whole = receive_some(greeting.connection.fd.get(), greeting.received, kMostHelloBytes, greeting.socket);
  if (whole && !*whole) {
    return;
  }
  greeting.is_done = true;
  const auto agent = whole ? read_greeting(greeting) : Result<FoundAgent>(whole.error());
  if (agent) {
    found.agents.push_back(*agent);
  } else {
    found.refusals.push_back(agent.error().message);
  }
}

/// Reads what has arrived. False: nothing arrived in time.
bool take_answers(std::vector<Greeting>& greetings, Found& found, Clock::time_point until) {
  std::vector<pollfd> polled;
  polled.reserve(greetings.size());
  for (const Greeting& greeting : greetings) {
    polled.push_back({greeting.connection.fd.get(), POLLIN, 0});
  }
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
  const int count = ::poll(polled.data(), polled.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
  for (std::size_t i = 0; i < polled.size() && count > 0; ++i) {
    if (polled[i].revents != 0) {
      take_answer(greetings[i], found);
    }
  }
  std::erase_if(greetings, [](const Greeting& greeting) { return greeting.is_done; });
  return count > 0 || (count < 0 && errno == EINTR);
}

/// "4711" also matches the job id of the step "4711.0": a batch script of Slurm knows the job's number only.
bool is_id_of(const std::string& wanted, const std::string& job_id) {
  const bool is_number = wanted.find_first_not_of("0123456789") == std::string::npos;
  return !wanted.empty() && (wanted == job_id || (is_number && job_id.starts_with(wanted + ".")));
}

/// The rendezvous; if it is on this machine, only its port: one port of this machine is one leader, whatever its
/// agents call it.
std::string place_of(const std::string& rendezvous) {
  const std::size_t port = rendezvous.rfind(':');
  static const Snapshot here = [] {  // asked for once, however many agents are compared
    Snapshot machine;
    std::array<char, 256> name{};
    machine.host_name = ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
    machine.addresses = Lazy<std::vector<std::string>>(local_addresses);
    return machine;
  }();
  const bool is_here = port != std::string::npos && is_this_host(rendezvous.substr(0, port), here);
  return is_here ? rendezvous.substr(port) : rendezvous;
}

Error no_job(const Found& found, const std::string& what) {
  std::string message = what;
  if (found.of_others > 0 && found.agents.empty()) {  // no fault, but why there may be a job all the same
    message += " (run folders of other users: " + std::to_string(found.of_others) + ")";
  }
  for (const std::string& refusal : found.refusals) {
    message += "; " + refusal;
  }
  return {ErrorKind::Incomplete, message};
}

}  // namespace

std::optional<pid_t> pid_of_muster(const Listener& listener, uid_t asker,
                                   const std::function<std::optional<SeenProcess>(pid_t)>& find_process) {
  if (listener.named <= 0 || listener.folder_owner != listener.user) {
    return std::nullopt;
  }
  const auto agent = find_process(listener.pid);
  if (!agent) {
    // A user may lie to themselves; another one is called by what the kernel says, if it says anything.
    return listener.user == asker || listener.pid <= 0 ? listener.named : listener.pid;
  }
  for (const pid_t pid : {listener.pid, agent->parent}) {
    const auto process = find_process(pid);
    if (process && agent->user == listener.user && process->user == listener.user &&
        process->own_name == listener.named) {
      return pid;
    }
  }
  return std::nullopt;
}

bool FoundAgent::is_of_same_job(const FoundAgent& other) const {
  const bool is_same = rendezvous.empty()
                           ? pid == other.pid && (pid > 0 || socket == other.socket)
                           : job_id == other.job_id && place_of(rendezvous) == place_of(other.rendezvous);
  return is_same && peer.uid == other.peer.uid;
}

Found find_agents(const std::string& temporary_folder) {
  Found found;
  found.asker = ::geteuid();
  std::vector<Greeting> greetings;
  for (const std::string& place : std::set<std::string>{"/dev/shm", "/tmp", temporary_folder}) {
    search(place, greetings, found);
  }
  limit_crowds(greetings, found);
  begin(greetings, found);
  // Waits for the answers of all together, so that silent ones do not add up.
  const Clock::time_point until = Clock::now() + kHelloTimeout;
  while (!greetings.empty() && take_answers(greetings, found, until)) {
  }
  for (const Greeting& silent : greetings) {
    if (auto agent = silent_agent(silent)) {
      found.agents.push_back(std::move(*agent));
    } else {
      found.refusals.push_back(no_answer(silent.socket).message);
    }
  }
  std::ranges::sort(found.agents, {}, &FoundAgent::pid);
  return found;
}

namespace {

/// The error if none of several jobs, or of no jobs, is chosen. It ends with the table of the jobs.
Error no_choice(const Found& found, const std::vector<FoundAgent>& chosen, const std::optional<std::string>& wanted) {
  const std::vector<FoundAgent> jobs = chosen.empty() ? all_jobs(found) : chosen;
  if (jobs.empty() || (chosen.empty() && !wanted)) {
    return no_job(found, "no job of muster runs here");
  }
  Error error = no_job(found, "no job '" + wanted.value_or("") + "' runs here");
  if (!chosen.empty()) {
    const std::string called = wanted ? " called '" + *wanted + "'" : "";
    error = {ErrorKind::BadUsage, count_of(chosen.size(), "job") + called + " run here; choose one with --job PID"};
  }
  error.message += (chosen.empty() ? "; these jobs do:\n" : ":\n") + jobs_table(jobs, now_since_1970());
  error.message.pop_back();  // the line's end
  return error;
}

}  // namespace

namespace {

/// The first agent of each job.
std::vector<FoundAgent> one_of_each_job(const std::vector<FoundAgent>& agents) {
  std::vector<FoundAgent> jobs;
  for (const FoundAgent& agent : agents) {
    if (std::ranges::none_of(jobs, [&](const FoundAgent& other) { return agent.is_of_same_job(other); })) {
      jobs.push_back(agent);
    }
  }
  return jobs;
}

}  // namespace

std::vector<FoundAgent> all_jobs(const Found& found) {
  return one_of_each_job(found.agents);
}

std::vector<FoundAgent> choose_jobs(const Found& found, const std::optional<std::string>& wanted) {
  std::vector<FoundAgent> chosen;
  std::ranges::copy_if(found.agents, std::back_inserter(chosen), [&](const FoundAgent& agent) {
    return !wanted || *wanted == std::to_string(agent.pid) || is_id_of(*wanted, agent.job_id);
  });
  chosen = one_of_each_job(chosen);
  // Another user chooses the id of their job, but not its pid.
  const auto is_own = [&](const FoundAgent& agent) { return agent.peer.uid == found.asker; };
  if (std::any_of(chosen.begin(), chosen.end(), is_own)) {
    std::erase_if(chosen,
                  [&](const FoundAgent& agent) { return !is_own(agent) && wanted != std::to_string(agent.pid); });
  }
  return chosen;
}

Result<FoundAgent> choose_agent(const Found& found, const std::optional<std::string>& wanted) {
  const std::vector<FoundAgent> chosen = choose_jobs(found, wanted);
  if (chosen.size() != 1) {
    return no_choice(found, chosen, wanted);
  }
  if (chosen.front().is_silent && !wanted) {
    return no_answer(chosen.front());
  }
  return chosen.front();
}

Result<json::object> ask(const FoundAgent& agent, const Request& request, std::chrono::milliseconds most_time) {
  const Clock::time_point until = Clock::now() + most_time;
  Connection connection;
  if (const int failed = connect_to(agent.socket, connection); failed != 0) {
    return failed == EAGAIN ? no_answer(agent) : connect_error(agent.socket, failed);
  }
  if (connection.peer.pid != agent.peer.pid || connection.peer.uid != agent.peer.uid) {
    return has_ended(agent.socket);
  }
  TRY(send_line(connection.fd.get(), write_request(request), agent.socket, until));
  return parse_answer(TRY(receive_line(connection.fd.get(), agent, until)));
}

}  // namespace muster::control
