// Measures how much Horovod's store delays the event loop that it runs in.
//
// usage: store_load CLIENTS wait|mesh [SECONDS]
//
// The service as the leader has it, and so many processes that speak with it as gloo's ranks do: `wait`, all ask for
// a rank that does not come; `mesh`, each tells its addresses and reads those of all others. A timer says how late
// the loop was with it, which is how late it would be with a death or a signal.
#include "services/services.hpp"
#include "services/tcp_server.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr std::chrono::milliseconds kPollInterval{10};  // gloo's
constexpr std::size_t kBytesOfAddress = 140;

/// One request and its answer, on a connection of its own, as gloo's client has it. Returns the status.
int request(std::uint16_t port, const std::string& method, const std::string& path, const std::string& body = "") {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string text = method + " " + path +
                           " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: " + std::to_string(body.size()) +
                           "\r\n\r\n" + body;
  int status = 0;
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&  // NOLINT
      ::send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size())) {
    std::string answer;
    char buffer[4'096];
    for (ssize_t size = 1; size > 0;) {
      size = ::recv(fd, buffer, sizeof buffer, 0);
      answer.append(buffer, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    }
    status = answer.size() > 12 ? std::atoi(answer.c_str() + 9) : 0;
  }
  ::close(fd);
  return status;
}

/// Returns the number of requests.
long ask_until(std::uint16_t port, const std::string& path, Clock::time_point end) {
  long count = 1;
  while (request(port, "GET", path) != 200 && Clock::now() < end) {
    ++count;
    std::this_thread::sleep_for(kPollInterval);
  }
  return count;
}

/// Makes the requests by which one rank meets the others; returns their number.
long meet(std::uint16_t port, int rank, int size, Clock::time_point end) {
  const std::string own = std::to_string(rank);
  (void)request(port, "PUT", "/global/rank_" + own, "host");
  (void)request(port, "PUT", "/global/" + own, std::string(kBytesOfAddress * static_cast<std::size_t>(size), 'a'));
  long count = 2;
  for (int other = 0; other < size; ++other) {
    if (other != rank) {
      const std::string path = "/global/" + std::to_string(other);
      count += ask_until(port, path, end) + 1;
      (void)request(port, "GET", path);
    }
  }
  return count;
}

/// Starts the clients; each writes how many requests it has made.
void start_clients(int clients, bool is_mesh, std::uint16_t port, int seconds, int out) {
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  for (int rank = 0; rank < clients; ++rank) {
    if (::fork() == 0) {  // NOLINT: a client, not a worker
      const long count = is_mesh ? meet(port, rank, clients, end) : ask_until(port, "/global/0", end);
      const bool is_told = ::write(out, &count, sizeof count) == sizeof count;
      ::_exit(is_told ? 0 : 1);
    }
  }
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double cpu_seconds() {
  rusage usage{};
  (void)::getrusage(RUSAGE_SELF, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

/// Milliseconds, of which some are more than others.
class Times {
 public:
  void add(double milliseconds) { times_.push_back(milliseconds); }

  [[nodiscard]] double at(double part) {
    std::sort(times_.begin(), times_.end());
    return times_.empty() ? 0 : times_[static_cast<std::size_t>(part * static_cast<double>(times_.size() - 1))];
  }

 private:
  std::vector<double> times_;
};

/// Delays of a timer of one millisecond in the event loop, and the CPU time between its calls, which does not depend on
/// other load of the machine.
class Lateness {
 public:
  explicit Lateness(boost::asio::io_context& io) : timer_(io) { wait(); }

  Times late;
  Times computed;

 private:
  void wait() {
    const double before = cpu_seconds();
    timer_.expires_after(std::chrono::milliseconds(1));
    timer_.async_wait([this, before](const boost::system::error_code& error) {
      if (!error) {
        late.add(Milliseconds(Clock::now() - timer_.expiry()).count());
        computed.add((cpu_seconds() - before) * 1e3);
        wait();
      }
    });
  }

  boost::asio::steady_timer timer_;
};

int measure(int clients, bool is_mesh, int seconds) {
  boost::asio::io_context io{1};
  ServiceInput input;
  input.start_server = [&](ServerEvents events) { return start_server(io, std::move(events)); };
  input.later = [&](std::function<void()> then) { boost::asio::post(io, std::move(then)); };
  const auto service = make_horovod_store(input);
  AttemptPorts offer;
  if (const auto prepared = service->prepare(offer); !prepared) {
    std::fprintf(stderr, "%s\n", prepared.error().message.c_str());
    return 1;
  }
  int counts[2] = {-1, -1};
  if (::pipe(counts) != 0) {  // NOLINT: for children of this program
    return 1;
  }
  const auto begin = Clock::now();
  start_clients(clients, is_mesh, offer.store_port, seconds, counts[1]);
  ::close(counts[1]);
  Lateness lateness(io);
  long requests = 0;
  std::thread counting([&] {
    for (long count = 0; ::read(counts[0], &count, sizeof count) == sizeof count;) {
      requests += count;
    }
    boost::asio::post(io, [&] { io.stop(); });
  });
  io.run();
  const double elapsed = Milliseconds(Clock::now() - begin).count() / 1e3;
  counting.join();
  while (::wait(nullptr) > 0) {  // NOLINT
  }
  std::printf(
      "%d clients, %s: %.2f s, %ld requests, %.0f a second; late by a median of %.2f ms, 99 %% "
      "%.2f ms; a turn of %.2f ms of CPU, 99 %% %.2f ms, at most %.2f ms; %.2f s of CPU\n",
      clients, is_mesh ? "mesh" : "wait", elapsed, requests, static_cast<double>(requests) / elapsed,
      lateness.late.at(0.5), lateness.late.at(0.99), lateness.computed.at(0.5), lateness.computed.at(0.99),
      lateness.computed.at(1), cpu_seconds());
  return 0;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 2) {
    std::fprintf(stderr, "usage: store_load CLIENTS wait|mesh [SECONDS]\n");
    return 64;
  }
  const int seconds = arguments.size() > 2 ? std::atoi(arguments[2].c_str()) : 5;
  return muster::measure(std::atoi(arguments[0].c_str()), arguments[1] == "mesh", seconds);
}
