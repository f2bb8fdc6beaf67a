// Parses and writes the control requests and answers, finds the control sockets of running jobs, and asks them. Any
// process that can open the socket may send anything, so every field is checked.
#include "control/control.hpp"

#include "base/file_io.hpp"
#include "base/text.hpp"

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
#include <set>
#include <system_error>
#include <utility>

namespace muster::control {
namespace {

constexpr std::size_t kMostReasonBytes = 512;
constexpr double kMostSeconds = 315'360'000;  // ten years, as everywhere
constexpr int kMostRank = 1'000'000;

Error bad(std::string what) {
  return {ErrorKind::BadData, std::move(what)};
}

Result<json::object> parse_line(std::string_view line) {
  auto object = parse_object(line);
  if (!object) {
    return bad("expected a line with one object of JSON, such as {\"control\":1,\"request\":\"status\"}");
  }
  const json::value* const version = object->if_contains("control");
  if (version == nullptr || !version->is_int64()) {
    return bad("expected \"control\":" + std::to_string(kVersion) + ", the version of the interface");
  }
  if (version->get_int64() != kVersion) {
    return bad("version " + std::to_string(version->get_int64()) +
               " of the interface is asked for; this muster speaks version " + std::to_string(kVersion));
  }
  return std::move(*object);
}

/// Reads a field in seconds. Empty: the field is missing.
Result<std::optional<std::chrono::milliseconds>> read_seconds(const json::object& object, const char* name) {
  const json::value* const value = object.if_contains(name);
  if (value == nullptr || value->is_null()) {
    return std::optional<std::chrono::milliseconds>();
  }
  boost::system::error_code error;
  const double seconds = value->is_number() ? value->to_number<double>(error) : -1;
  if (error || !(seconds >= 0 && seconds <= kMostSeconds)) {
    return bad(std::string("\"") + name + "\" is no number of seconds from 0 to ten years");
  }
  return std::optional(std::chrono::milliseconds(std::llround(seconds * 1'000)));
}

Result<Request> read_stop(const json::object& object) {
  const auto grace = read_seconds(object, "grace");
  return grace ? Result<Request>(StopRequest{*grace}) : grace.error();
}

Result<Request> read_suspend(const json::object& object) {
  const auto within = TRY(read_seconds(object, "within"));
  const json::value* const reason = object.if_contains("reason");
  if (reason != nullptr && !reason->is_string()) {
    return bad("\"reason\" is no text");
  }
  const std::string text = reason == nullptr ? "" : std::string(reason->get_string());
  return Request(SuspendRequest{within, one_line(text, kMostReasonBytes)});
}

Result<Request> read_saved(const json::object& object) {
  const json::value* const rank = object.if_contains("rank");
  if (rank == nullptr || rank->is_null()) {
    return Request(SavedRequest{});
  }
  const std::int64_t* const number = rank->if_int64();
  if (number == nullptr || *number < 0 || *number > kMostRank) {
    return bad("\"rank\" is no rank");
  }
  return Request(SavedRequest{static_cast<int>(*number)});
}

json::object request_of(const char* name) {
  return json::object{{"control", kVersion}, {"request", name}};
}

double seconds_of(std::chrono::milliseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

struct Writer {
  json::object operator()(const HelloRequest& /*hello*/) const { return request_of("hello"); }
  json::object operator()(const StatusRequest& /*status*/) const { return request_of("status"); }
  json::object operator()(const StacksRequest& /*stacks*/) const { return request_of("stacks"); }
  json::object operator()(const StopRequest& stop) const {
    json::object object = request_of("stop");
    if (stop.grace) {
      object["grace"] = seconds_of(*stop.grace);
    }
    return object;
  }
  json::object operator()(const SuspendRequest& suspend) const {
    json::object object = request_of("suspend");
    if (suspend.within) {
      object["within"] = seconds_of(*suspend.within);
    }
    if (!suspend.reason.empty()) {
      object["reason"] = suspend.reason;
    }
    return object;
  }
  json::object operator()(const WithdrawRequest& /*withdraw*/) const { return request_of("cancel_suspend"); }
  json::object operator()(const SavedRequest& saved) const {
    json::object object = request_of("saved");
    if (saved.rank) {
      object["rank"] = *saved.rank;
    }
    return object;
  }
};

std::string line_of(json::object object) {
  json::value document = std::move(object);
  make_valid_utf8(document);
  return json::serialize(document) + "\n";
}

}  // namespace

Result<Request> parse_request(std::string_view line) {
  const auto object = TRY(parse_line(line));
  const std::string request(text_of(object, "request"));
  if (request == "hello") {
    return Request(HelloRequest{});
  }
  if (request == "status") {
    return Request(StatusRequest{});
  }
  if (request == "stacks") {
    return Request(StacksRequest{});
  }
  if (request == "stop") {
    return read_stop(object);
  }
  if (request == "suspend") {
    return read_suspend(object);
  }
  if (request == "cancel_suspend") {
    return Request(WithdrawRequest{});
  }
  if (request == "saved") {
    return read_saved(object);
  }
  return bad("\"request\" is none of hello, status, stacks, stop, suspend, cancel_suspend and saved");
}

std::string write_request(const Request& request) {
  return line_of(std::visit(Writer{}, request));
}

std::string write_answer(const json::object& more) {
  json::object object{{"control", kVersion}, {"ok", true}};
  for (const auto& [name, value] : more) {
    object[name] = value;
  }
  return line_of(std::move(object));
}

std::string write_refusal(const std::string& why) {
  return line_of(json::object{{"control", kVersion}, {"ok", false}, {"error", why}});
}

Result<json::object> parse_answer(std::string_view line) {
  auto object = parse_line(line);
  if (!object) {
    return bad("the job gave an answer that is none: " + object.error().message);
  }
  const json::value* const ok = object->if_contains("ok");
  if (ok != nullptr && ok->is_bool() && ok->get_bool()) {
    return object;
  }
  const json::value* const why = object->if_contains("error");
  return Error{ErrorKind::Incomplete, why != nullptr && why->is_string()
                                          ? one_line(std::string(why->get_string()), kMostReasonBytes)
                                          : "the job refused the request"};
}

// Finds control sockets in run directories and talks to them with blocking calls: for commands, not for agents.

namespace {

using Clock = std::chrono::steady_clock;

/// Limit of an answer: that of a job with thousands of nodes has megabytes.
constexpr std::size_t kMostAnswerBytes = std::size_t{64} << 20U;
constexpr std::chrono::seconds kHelloTimeout{2};
constexpr std::string_view kFolderStart = "muster_";

Result<UniqueFd> connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return system_error("cannot connect to '" + path + "'", ENAMETOOLONG);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return system_error("cannot connect to '" + path + "'", errno);
  }
  return fd;
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

Error no_answer(const std::string& socket) {
  return {ErrorKind::Incomplete, "the job at '" + socket + "' does not answer"};
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

Result<std::string> receive_line(int fd, const std::string& socket, Clock::time_point until) {
  std::string received;
  std::array<char, 65536> chunk{};
  while (received.size() < kMostAnswerBytes) {
    const ssize_t size = ::recv(fd, chunk.data(), chunk.size(), 0);
    if (size > 0) {
      received.append(chunk.data(), static_cast<std::size_t>(size));
    }
    if (received.ends_with('\n')) {
      received.pop_back();
      return received;
    }
    if (size == 0) {
      return Error{ErrorKind::Incomplete, "the job at '" + socket + "' ended before it answered"};
    }
    const bool may_try_again = size > 0 || errno == EAGAIN || errno == EINTR;
    if (!may_try_again || (size < 0 && !wait_for(fd, POLLIN, until))) {
      return no_answer(socket);
    }
  }
  return Error{ErrorKind::Incomplete, "the answer of the job at '" + socket + "' is too long"};
}

/// True if the listening process and the process that it names belong to the folder's owner. Otherwise root could be
/// made to ask another user's process.
bool is_owners(const std::string& folder, const ucred& peer, pid_t named) {
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0 || status.st_uid != peer.uid) {
    return false;
  }
  struct stat process {};
  const bool is_shown = ::stat(("/proc/" + std::to_string(named)).c_str(), &process) == 0;
  return !is_shown || process.st_uid == peer.uid;
}

Result<FoundAgent> greet(const std::string& folder) {
  const std::string socket = folder + "/" + kSocketName;
  ucred peer{0, static_cast<uid_t>(-1), static_cast<gid_t>(-1)};
  auto answer = TRY(ask(socket, HelloRequest{}, kHelloTimeout, &peer));
  FoundAgent agent;
  agent.socket = socket;
  agent.job_id = text_of(answer, "id");
  agent.rendezvous = text_of(answer, "rendezvous");
  agent.version = text_of(answer, "version");
  const json::value* const pid = answer.if_contains("pid");
  agent.pid = pid != nullptr && pid->is_int64() ? static_cast<pid_t>(pid->get_int64()) : -1;
  if (!is_owners(folder, peer, agent.pid)) {
    return Error{ErrorKind::Incomplete, "'" + socket + "' is not its owner's"};
  }
  return agent;
}

/// True for the run directory of another user's muster: its content cannot be read.
bool is_of_another_user(const std::string& folder) {
  struct stat status {};
  return ::geteuid() != 0 && ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid != ::geteuid();
}

bool is_socket(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
}

void search(const std::string& place, Found& found) {
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
    if (!is_socket(socket)) {
      continue;
    }
    if (auto agent = greet(folder)) {
      found.agents.push_back(std::move(*agent));
    } else if (agent.error().kind != ErrorKind::System) {  // otherwise no process listens there any more
      found.refusals.push_back(agent.error().message);
    }
  }
}

/// "4711" also matches the job id of the step "4711.0": a batch script of Slurm knows the job's number only.
bool is_id_of(const std::string& wanted, const std::string& job_id) {
  const bool is_number = wanted.find_first_not_of("0123456789") == std::string::npos;
  return !wanted.empty() && (wanted == job_id || (is_number && job_id.starts_with(wanted + ".")));
}

Error no_job(const Found& found, const std::string& what) {
  std::string message = what;
  if (found.of_others > 0) {
    message +=
        "; " + count_of(static_cast<std::size_t>(found.of_others), "run folder") + " of other users cannot be opened";
  }
  for (const std::string& refusal : found.refusals) {
    message += "; " + refusal;
  }
  return {ErrorKind::Incomplete, message};
}

}  // namespace

bool FoundAgent::is_of_same_job(const FoundAgent& other) const {
  return rendezvous.empty() ? pid == other.pid : rendezvous == other.rendezvous && job_id == other.job_id;
}

Found find_agents(const std::string& temporary_folder) {
  Found found;
  for (const std::string& place : std::set<std::string>{"/dev/shm", "/tmp", temporary_folder}) {
    search(place, found);
  }
  std::sort(found.agents.begin(), found.agents.end(),
            [](const auto& left, const auto& right) { return left.pid < right.pid; });
  return found;
}

namespace {

/// "'train' (pid 4711)".
std::string describe(const FoundAgent& agent) {
  return (agent.job_id.empty() ? "a job without an id" : "'" + agent.job_id + "'") + " (pid " +
         std::to_string(agent.pid) + ")";
}

}  // namespace

Result<FoundAgent> choose_agent(const Found& found, const std::optional<std::string>& wanted) {
  std::vector<FoundAgent> chosen;
  for (const FoundAgent& agent : found.agents) {
    const bool is_wanted = !wanted || *wanted == std::to_string(agent.pid) || is_id_of(*wanted, agent.job_id);
    const bool is_known =
        std::any_of(chosen.begin(), chosen.end(), [&](const FoundAgent& other) { return agent.is_of_same_job(other); });
    if (is_wanted && !is_known) {
      chosen.push_back(agent);
    }
  }
  if (chosen.size() == 1) {
    return chosen.front();
  }
  std::vector<std::string> names;
  for (const FoundAgent& agent : chosen.empty() ? found.agents : chosen) {
    names.push_back(describe(agent));
  }
  if (chosen.size() > 1) {
    return Error{ErrorKind::BadUsage, count_of(chosen.size(), "job") + (wanted ? " called '" + *wanted + "'" : "") +
                                          " run here: " + join(names, ", ") + "; choose one with --job PID"};
  }
  return wanted && !names.empty() ? no_job(found, "no job '" + *wanted + "' runs here; these do: " + join(names, ", "))
                                  : no_job(found, "no job of muster runs here");
}

Result<json::object> ask(const std::string& socket, const Request& request, std::chrono::milliseconds most_time,
                         ucred* peer) {
  const Clock::time_point until = Clock::now() + most_time;
  const auto fd = TRY(connect_to(socket));
  if (peer != nullptr) {
    socklen_t size = sizeof(*peer);
    (void)::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, peer, &size);
  }
  TRY(send_line(fd.get(), write_request(request), socket, until));
  const auto line = receive_line(fd.get(), socket, until);
  return line ? parse_answer(*line) : line.error();
}

}  // namespace muster::control
