// How an agent learns what to do where no command line says it.
#include "agent_of_front.hpp"

#include "base/null_device.hpp"
#include "remote/remote_shell.hpp"
#include "base/log.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace muster {
namespace {

/// A front sends its order at once.
constexpr int kPatienceMilliseconds = 60'000;

Error no_order(const std::string& why) {
  return Error{
      ErrorKind::System,
      std::string("cannot read the order of a front, as ") + kAgentOption + " asks for: " + why};
}

/// No byte beyond the order: what follows is the agent's.
Result<> read_some(FrameReader& reader) {
  pollfd ready{STDIN_FILENO, POLLIN, 0};
  if (::poll(&ready, 1, kPatienceMilliseconds) == 0) {
    return no_order("nothing came");
  }
  std::array<char, 65'536> buffer{};
  const ssize_t size =
      ::read(STDIN_FILENO, buffer.data(), std::min(buffer.size(), reader.wanted()));
  if (size == 0) {
    return no_order("the front is gone");
  }
  if (size < 0 && errno != EINTR && errno != EAGAIN) {
    return system_error("cannot read the order of a front", errno);
  }
  reader.feed({buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))});
  return {};
}

/// The next frame, however many reads it comes in.
Result<Frame> next_frame(FrameReader& reader) {
  while (true) {
    auto frame = reader.next();
    if (!frame) {
      return frame.error();
    }
    if (*frame) {
      return std::move(**frame);
    }
    if (auto read = read_some(reader); !read) {
      return read.error();
    }
  }
}

Result<AgentOrder> read_order() {
  FrameReader reader;
  OrderReader orders;
  while (true) {
    const auto frame = next_frame(reader);
    if (!frame) {
      return frame.error();
    }
    const auto is_whole = orders.take(*frame);
    if (!is_whole) {
      return is_whole.error();
    }
    if (*is_whole) {
      return std::move(orders.order());
    }
  }
}

}  // namespace

bool is_agent_of_front(std::span<char* const> argv) {
  return argv.size() == 2 && std::string_view(argv[1]) == kAgentOption;
}

Result<RemoteOrder> read_remote_order() {
  auto order = read_order();
  if (!order) {
    return order.error();
  }
  if (order->version != MUSTER_VERSION) {
    log_warning("the muster on '" + order->host + "' is " + MUSTER_VERSION +
                ", and that of the front " + order->version);
  }
  const std::string& folder = order->working_directory;
  if (::chdir(folder.c_str()) != 0) {
    return Error{ErrorKind::BadEnvironment,
                 system_error("cannot run the job in '" + folder + "' on '" + order->host +
                                  "', the folder where it was started",
                              errno)
                     .message};
  }
  RemoteOrder commission{std::move(*order), UniqueFd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3))};
  const UniqueFd null = open_null(NullFor::Reading);
  (void)::dup2(null.get(), STDIN_FILENO);
  return commission;
}

Snapshot take_snapshot(const AgentOrder& order) {
  Snapshot snapshot = take_snapshot();
  for (const auto& [name, value] : order.variables) {
    snapshot.variables.insert_or_assign(name, value);
  }
  return snapshot;
}

}  // namespace muster
