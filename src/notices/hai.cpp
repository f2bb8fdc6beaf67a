// Polls HAI's suspend flag. HAI's command sets it to '1', and the task's manager resets it to '0' five seconds later,
// whatever the job does: that is no withdrawal. A '1' after a '0' is another command.
// Source: HFAiLab/hai-platform, the suspend protocol.
#include "notices/hai.hpp"

#include "base/file_io.hpp"
#include "base/format_text.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "environment/local_host.hpp"
#include "supervise/supervisor.hpp"

#include <netdb.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <system_error>

namespace muster {

// One request per connection. All calls block: they run in a helper process, which is killed after a timeout.

namespace {

constexpr const char* kPort = "7000";
constexpr std::size_t kLengthBytes = 8;
constexpr int kMostAnswerBytes = 1 << 20;

/// Limits the calls where no helper process can be made.
constexpr timeval kHaiTimeout{1, 0};

/// A text of up to 255 bytes in protocol 2 of Python's pickle.
std::string pickled(std::string_view text) {
  return std::string("X") + static_cast<char>(text.size()) + std::string(3, '\0') + std::string(text);
}

std::string reason() {
  return std::generic_category().message(errno);
}

/// Connects to the first address that accepts; empty: none, and errno is the last error.
UniqueFd connect_to(const addrinfo* address) {
  for (; address != nullptr; address = address->ai_next) {
    UniqueFd made(::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!made) {
      continue;
    }
    (void)::setsockopt(made.get(), SOL_SOCKET, SO_SNDTIMEO, &kHaiTimeout, sizeof kHaiTimeout);
    (void)::setsockopt(made.get(), SOL_SOCKET, SO_RCVTIMEO, &kHaiTimeout, sizeof kHaiTimeout);
    if (::connect(made.get(), address->ai_addr, address->ai_addrlen) == 0) {
      return made;
    }
  }
  return UniqueFd();
}

std::string exchange(int fd, const std::string& request) {
  // A request is shorter than any socket's send buffer.
  if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
    return "it does not take the request: " + reason();
  }
  const std::string length = read_up_to(fd, kLengthBytes).bytes;
  if (length.size() < kLengthBytes) {
    return "it does not answer";
  }
  return parse_integer(trim(length), kLengthBytes, kMostAnswerBytes) ? std::string()
                                                                     : "its answer has an impossible length";
}

}  // namespace

std::string write_hai_request(std::string_view source) {
  constexpr std::string_view kSource = "source";
  const std::string pickle = "\x80\x02}" + pickled(kSource) + pickled(source) + "s.";
  return format_text("%8zu", kLengthBytes + pickle.size()) + pickle;
}

std::string notify_hai_manager(const std::string& host, std::string_view source) {
  choose_name_services();
  bound_lookup();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), kPort, &hints, &found); error != 0) {
    return std::string("'") + host + "': " + ::gai_strerror(error);
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  const UniqueFd manager = connect_to(addresses.get());
  if (!manager) {
    return "'" + host + "': " + reason();
  }
  return exchange(manager.get(), write_hai_request(source));
}

std::string describe_reply(const std::optional<std::string>& problem) {
  if (!problem) {
    return "no answer in time";
  }
  return problem->empty() ? "done" : *problem;
}

namespace {

/// HAI's key is 7123378543, of which the kernel uses the low 32 bits.
constexpr std::uint32_t kKey = 0xA896216F;
constexpr char kSet = '1';

constexpr std::chrono::milliseconds kFlagPollInterval{200};
/// After this the manager stops a task that has not answered.
constexpr std::chrono::milliseconds kTimeToAnswer{5'000};
/// Timeout for the manager, above all at the job's end.
constexpr std::chrono::milliseconds kManagerTimeout{1'000};

/// False if the segment does not exist yet. Attaches it for each look, because its owner may create it again.
bool is_flag_set() {
  const int id = ::shmget(static_cast<key_t>(kKey), 1, 0);
  if (id == -1) {
    return false;
  }
  const void* const memory = ::shmat(id, nullptr, SHM_RDONLY);
  if (memory == reinterpret_cast<void*>(-1)) {  // NOLINT(performance-no-int-to-ptr): shmat(2)
    return false;
  }
  const bool is_set = *static_cast<const volatile char*>(memory) == kSet;
  (void)::shmdt(memory);
  return is_set;
}

}  // namespace

void HaiFlag::check() {
  const bool was_set = std::exchange(is_set_, is_flag_set());
  if (is_set_ && !was_set) {
    needs_receipt_ = true;
    owner().take_notice("HAI's suspend command", time_to_save(kTimeToAnswer));
  }
  schedule_poll(kFlagPollInterval);
}

void HaiFlag::schedule_poll(std::chrono::milliseconds time) {
  timer_.start(time, [this] { check(); });
}

/// The manager stops the task five seconds after its command, or ten if it gets a receipt.
void HaiFlag::on_delivered() {
  if (std::exchange(needs_receipt_, false) && !task_.manager.empty()) {
    receipt_.start({[this] { return notify_hai_manager(task_.manager, "receive_suspend_command"); }, kManagerTimeout,
                    [](const HelperTask::Answer& problem) {
                      log_debug("HAI's manager was told that its command has arrived: " + describe_reply(problem));
                    }});
  }
}

/// Tells the manager that the job is suspended, also if the job has not saved: its pods exit with a code other than
/// 0, and HAI restarts such a job only if it knows of the suspension.
void HaiFlag::on_suspended() {
  if (!task_.is_training || task_.manager.empty()) {
    owner().note_source_done();
    return;
  }
  farewell_.start(
      {[this] { return notify_hai_manager(task_.manager, "go_suspend"); }, kManagerTimeout,
       [this](const HelperTask::Answer& problem) {
         if (!problem || !problem->empty()) {
           log_warning("HAI's manager does not know that the job is suspended, and perhaps does not start it again: " +
                       describe_reply(problem));
         }
         owner().note_source_done();
       }});
}

}  // namespace muster
