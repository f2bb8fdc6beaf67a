// Writes muster's own messages with one spdlog logger and one sink; spdlog's registry, threads and files are not
// used.
#include "base/log.hpp"

#include "base/display_text.hpp"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <memory>
#include <optional>
#include <utility>

namespace muster {
namespace {

bool is_ready(int milliseconds) {
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  return ::poll(&ready, 1, milliseconds) == 1;
}

/// True if standard error takes the line without a wait. poll(2) calls a file always ready, although its file system
/// may hang; a ready pipe takes PIPE_BUF bytes.
bool takes_at_once(const std::string& line) {
  struct stat status {};
  const bool is_file = ::fstat(STDERR_FILENO, &status) != 0 || S_ISREG(status.st_mode) || S_ISBLK(status.st_mode);
  return !is_file && line.size() <= PIPE_BUF && is_ready(0);
}

/// Drops the lines when standard error stays unwritable: a stalled reader must not block muster.
void write_now(const std::string& lines) {
  constexpr int kTimeoutMilliseconds = 500;
  if (is_ready(kTimeoutMilliseconds)) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, lines.data(), lines.size());
  }
}

class LineSink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  MessageSink target;
  std::optional<std::string> kept;  ///< lines that wait for a target; empty: no buffering
  bool with_colour = false;
  std::string prefix = "muster: ";
  ConsoleClock clock;

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string_view colour = !with_colour                           ? ""
                                    : message.level == spdlog::level::err  ? "\x1b[31m"  // red
                                    : message.level == spdlog::level::warn ? "\x1b[33m"  // yellow
                                                                           : "";
    const std::string start = clock.now() + prefix;
    std::string line(colour);
    line += start;
    for (const char c : escape_controls({message.payload.data(), message.payload.size()})) {
      line += c;
      if (c == '\n') {  // of a quoted value: each line gets the prefix
        line += start;
      }
    }
    line += colour.empty() ? "\n" : "\x1b[0m\n";
    if (target) {
      target(line);
    } else if (kept && (!kept->empty() || !takes_at_once(line))) {
      *kept += line;
    } else {
      write_now(line);
    }
  }
  void flush_() override {}
};

struct Logger {
  std::shared_ptr<LineSink> sink = std::make_shared<LineSink>();
  spdlog::logger logger{"muster", sink};
};

Logger& logger() {
  static Logger instance;
  return instance;
}

constexpr auto to_spdlog(Level level) {
  return static_cast<spdlog::level::level_enum>(level);
}
static_assert(to_spdlog(Level::Debug) == spdlog::level::debug && to_spdlog(Level::Error) == spdlog::level::err);

}  // namespace

void set_up_messages(Level least, bool with_colour) {
  logger().logger.set_level(to_spdlog(least));
  logger().sink->with_colour = with_colour;
}

void set_log_host(const std::string& host) {
  logger().sink->prefix = (host.empty() ? "" : "[" + visible_line(host) + "] ") + "muster: ";
}

void set_log_clock(const ConsoleClock& clock) {
  logger().sink->clock = clock;
}

void buffer_log() {
  logger().sink->kept.emplace();
}

void flush_log() {
  if (const auto kept = std::exchange(logger().sink->kept, std::nullopt); kept && !kept->empty()) {
    write_now(*kept);
  }
}

void set_log_sink(MessageSink sink) {
  const auto kept = std::exchange(logger().sink->kept, std::nullopt);
  logger().sink->target = std::move(sink);
  if (logger().sink->target && kept && !kept->empty()) {
    logger().sink->target(*kept);
  }
}

bool is_logged(Level level) {
  return logger().logger.should_log(to_spdlog(level));
}

void say(Level level, std::string_view message) {
  logger().logger.log(to_spdlog(level), message);
}

}  // namespace muster
