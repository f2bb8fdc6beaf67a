// Plays clients of PyTorch's TCPStore, as those of torch 2.5 and later speak, against any server of that protocol.
//
// usage: store_clients PORT join CLIENTS
//        store_clients PORT load CLIENTS SECONDS
//
// `join`, as ranks do by NCCL: each connects, greets, says its pid and arrives; then all but the first wait for a key,
// the first sets it, and each reads it. It prints the seconds of both as JSON, and the clients stay until the end of
// standard input. `load` prints how many operations of each kind the clients are answered in a second, each asking
// for the next one when it has the answer of the last.
#include "base/file_io.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace muster::scale {
namespace {

using Clock = std::chrono::steady_clock;

/// So many connections are on their way at a time: no server's queue of them is ever full, and none is tried again
/// after a second.
constexpr std::size_t kMostConnecting = 1'024;
constexpr int kMostSeconds = 120;

// Requests of the clients, byte for byte.
std::string bytes_of(std::uint64_t number, std::size_t size) {
  std::string bytes(size, '\0');
  std::memcpy(bytes.data(), &number, size);
  return bytes;
}
std::string code(char number) {
  return std::string(1, number);
}
std::string text(const std::string& value) {
  return bytes_of(value.size(), 8) + value;
}
std::string set(const std::string& key, const std::string& value) {
  return code(1) + text(key) + text(value);
}
std::string compare_set(const std::string& key, const std::string& old, const std::string& value) {
  return code(2) + text(key) + text(old) + text(value);
}
std::string get(const std::string& key) {
  return code(3) + text(key);
}
std::string add(const std::string& key, std::uint64_t amount) {
  return code(4) + text(key) + bytes_of(amount, 8);
}
std::string wait(const std::string& key) {
  return code(6) + bytes_of(1, 8) + text(key);
}
std::string greeting() {
  return code(0) + bytes_of(0x3C85F7CE, 4);
}
std::string ping(std::uint64_t pid) {
  return code(13) + bytes_of(pid, 4);
}

/// A request and the size of its answer, which is known for each of them.
struct Exchange {
  std::string says;
  std::size_t answer = 0;
};
using Exchanges = std::vector<Exchange>;

struct Client {
  UniqueFd fd;
  Exchanges exchanges{};
  std::size_t next = 0;  ///< the exchange that is going on
  std::size_t read = 0;  ///< bytes of its answer
};

[[noreturn]] void give_up(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

class Clients {
 public:
  explicit Clients(std::uint16_t port) : port_(port), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

  /// Connects so many, which have these exchanges, each its own.
  template <typename ExchangesOf>
  void connect(std::size_t count, const ExchangesOf& exchanges_of) {
    clients_.reserve(count);
    while (clients_.size() < count || busy_ > 0) {
      while (clients_.size() < count && busy_ < kMostConnecting) {
        open(exchanges_of(clients_.size()));
      }
      handle_some();
    }
  }
  /// Has each client do that, the first one last.
  template <typename ExchangesOf>
  void exchange(const ExchangesOf& exchanges_of) {
    for (std::size_t i = clients_.size(); i-- > 0;) {
      clients_[i].exchanges = exchanges_of(i);
      clients_[i].next = 0;
      ++busy_;
      say(clients_[i]);
    }
    while (busy_ > 0) {
      handle_some();
    }
  }
  /// Has each client do that again and again until then; returns how often it was done.
  template <typename ExchangesOf>
  std::size_t repeat(Clock::time_point end, const ExchangesOf& exchanges_of) {
    repeat_until_ = end;
    repeated_ = 0;
    exchange(exchanges_of);
    repeat_until_ = {};
    return repeated_;
  }

 private:
  void open(Exchanges exchanges) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    (void)::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!fd || (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 &&  // NOLINT
                errno != EINPROGRESS)) {
      give_up("cannot connect");
    }
    epoll_event event{EPOLLOUT, {.u64 = clients_.size()}};
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event);
    clients_.push_back({std::move(fd), std::move(exchanges)});
    ++busy_;
  }

  void handle_some() {
    std::array<epoll_event, 512> events{};
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), kMostSeconds * 1'000);
    if (count <= 0) {
      give_up("the server does not answer");
    }
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      Client& client = clients_[event.data.u64];
      if ((event.events & EPOLLOUT) != 0) {
        epoll_event readable{EPOLLIN, event.data};
        (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, client.fd.get(), &readable);
        say(client);
      } else {
        read_answer(client);
      }
    }
  }

  /// Up to the next answer that has to be waited for.
  void say(Client& client) {
    while (goes_on(client)) {
      const Exchange& exchange = client.exchanges[client.next];
      if (::send(client.fd.get(), exchange.says.data(), exchange.says.size(), MSG_NOSIGNAL) !=
          static_cast<ssize_t>(exchange.says.size())) {
        give_up("cannot write to the server");
      }
      if (exchange.answer > 0) {
        return;
      }
      ++client.next;
    }
  }

  /// False: it has done all that it has to.
  bool goes_on(Client& client) {
    if (client.next < client.exchanges.size()) {
      return true;
    }
    ++repeated_;
    const bool is_repeated = Clock::now() < repeat_until_;
    client.next = is_repeated ? 0 : client.next;
    busy_ -= is_repeated ? 0 : 1;
    return is_repeated;
  }

  void read_answer(Client& client) {
    std::array<char, 4'096> bytes{};
    const std::size_t wanted = client.exchanges.at(client.next).answer - client.read;
    const ssize_t size = ::recv(client.fd.get(), bytes.data(), std::min(wanted, bytes.size()), MSG_DONTWAIT);
    if (size <= 0) {
      give_up("the server has closed a connection");
    }
    client.read += static_cast<std::size_t>(size);
    if (static_cast<std::size_t>(size) == wanted) {
      client.read = 0;
      ++client.next;
      say(client);
    }
  }

  std::uint16_t port_;
  UniqueFd epoll_;
  std::vector<Client> clients_;
  std::size_t busy_ = 0;
  Clock::time_point repeat_until_;
  std::size_t repeated_ = 0;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Exchanges arrival_of(std::size_t client) {
  return {{greeting(), 0}, {ping(1'000'000 + client), 4}, {add("init/", 1), 8}};
}

/// As large as NCCL's. The key is ours alone: the same server may have served others like us.
Exchanges meeting_of(std::size_t client) {
  const std::string key = "/id_" + std::to_string(::getpid());
  const std::string value(128, 'x');
  const Exchange read{get(key), 8 + value.size()};
  return client == 0 ? Exchanges{{set(key, value), 0}, read} : Exchanges{{wait(key), 1}, read};
}

void join(std::uint16_t port, std::size_t count) {
  Clients clients(port);
  const auto begin = Clock::now();
  clients.connect(count, arrival_of);
  const double joined = seconds_since(begin);
  const auto met = Clock::now();
  clients.exchange(meeting_of);
  std::printf("{\"join_seconds\": %.6f, \"meet_seconds\": %.6f}\n", joined, seconds_since(met));
  (void)std::fflush(stdout);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

constexpr std::size_t kSetsAtOnce = 32;

/// So many operations in one round of exchanges.
struct Operation {
  const char* name;
  std::size_t count;
  Exchanges exchanges;
};

std::vector<Operation> operations_of(std::size_t client) {
  const std::string key = "/key_" + std::to_string(client);
  std::string sets;
  for (std::size_t i = 0; i < kSetsAtOnce; ++i) {
    sets += set(key, "value");
  }
  return {{"set", kSetsAtOnce, {{sets + ping(1), 4}}},
          {"get", 1, {{get(key), 8 + 5}}},
          {"add", 1, {{add("/count", 1), 8}}},
          {"wait", 1, {{wait(key), 1}}},
          {"compare_set", 1, {{compare_set(key, "value", "value"), 8 + 5}}}};
}

void load(std::uint16_t port, std::size_t count, double seconds) {
  Clients clients(port);
  clients.connect(count, arrival_of);
  const char* separator = "{";
  const std::vector<Operation> operations = operations_of(0);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const auto begin = Clock::now();
    const auto end = begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    const std::size_t rounds =
        clients.repeat(end, [i](std::size_t client) { return operations_of(client)[i].exchanges; });
    std::printf("%s\"%s\": %.0f", separator, operations[i].name,
                static_cast<double>(rounds * operations[i].count) / seconds_since(begin));
    separator = ", ";
  }
  std::printf("}\n");
}

int run(const std::vector<std::string>& arguments) {
  const bool is_join = arguments.size() == 3 && arguments[1] == "join";
  const bool is_load = arguments.size() == 4 && arguments[1] == "load";
  if (!is_join && !is_load) {
    std::fprintf(stderr, "usage: store_clients PORT join CLIENTS | load CLIENTS SECONDS\n");
    return 64;
  }
  const auto port = static_cast<std::uint16_t>(std::stoi(arguments[0]));
  const std::size_t count = std::stoul(arguments[2]);
  if (is_join) {
    join(port, count);
  } else {
    load(port, count, std::stod(arguments[3]));
  }
  return 0;
}

}  // namespace
}  // namespace muster::scale

int main(int argc, char** argv) {
  rlimit descriptors{};
  (void)::getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = descriptors.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &descriptors);
  try {
    return muster::scale::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "store_clients: %s\n", error.what());
    return 1;
  }
}
