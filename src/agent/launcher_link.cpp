// Reads the launcher's frames and watches for its heartbeats.
#include "agent/launcher_link.hpp"

#include "base/log.hpp"
#include "base/signals.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace muster {

LauncherLink::LauncherLink(ProcessLoop& loop, const LauncherInfo& seat)
    : loop_(loop), seat_(seat), words_(loop.io(), ::fcntl(seat.fd, F_DUPFD_CLOEXEC, 3)), silence_timer_(loop.io()) {}

void LauncherLink::start(const std::string& version) {
  wait();
  watch_silence();
  // Both streams begin with the hello line, by which the launcher recognizes this agent's output.
  for (OutputQueue* const console : {&loop_.queues().out(), &loop_.queues().error()}) {
    (void)console->write(write_control(seat_.nonce, kHello, version));
  }
  loop_.queues().watch_launcher_terminals(seat_.terminals);
  set_log_host(seat_.host);
}

void LauncherLink::cancel() {
  silence_timer_.cancel();
  ErrorCode ignored;  // nothing more is read
  words_.close(ignored);
}

void LauncherLink::wait() {
  words_.async_wait(boost::asio::posix::stream_descriptor::wait_read, [this](const ErrorCode& error) {
    if (!error) {
      on_readable();
    }
  });
}

void LauncherLink::on_readable() {
  std::array<char, 4096> buffer{};
  const ssize_t size = ::read(words_.native_handle(), buffer.data(), buffer.size());
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) {
    wait();
    return;
  }
  if (size <= 0) {
    lose("the launcher of the job is gone");
    return;
  }
  reader_.feed({buffer.data(), static_cast<std::size_t>(size)});
  while (words_.is_open()) {
    const auto frame = next_frame(reader_);
    if (!frame) {
      lose("this is not the launcher of a job: " + frame.error().message);
    } else if (!*frame) {
      break;
    } else {
      take(**frame);
    }
  }
  if (words_.is_open()) {
    watch_silence();
    wait();
  }
}

void LauncherLink::take(const Frame& frame) {
  if (frame.kind == kSignalFrame) {
    if (const auto signal = parse_signal(frame.bytes)) {
      on_signal(*signal);
    }
  } else if (frame.kind == kEndFrame) {
    on_end();
  }
}

/// Watches for missing heartbeats, because a cut network closes no connection.
void LauncherLink::watch_silence() {
  silence_timer_.start(kSilenceLimit, [this] {
    lose("the launcher of the job has said nothing for " + std::to_string(kSilenceLimit.count()) + " s");
  });
}

void LauncherLink::lose(const std::string& why) {
  cancel();
  on_gone(why);
}

}  // namespace muster
