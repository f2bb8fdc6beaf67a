// A loop of its own. Each turn takes what has happened in the order that the store wants: who has gone, who has come,
// what was sent; then it writes answers.
#include "store_process.hpp"

#include "../admission.hpp"
#include "store_lines.hpp"

#include <muster/base/unique_fd.hpp>
#include <muster/base/write_all.hpp>
#include <muster/store/store.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace muster {
namespace {

using boost::asio::ip::tcp;
using store::ClientId;
using ErrorCode = boost::system::error_code;

/// In one turn; what is left has the next one.
constexpr int kMostAccepted = 256;
constexpr int kMostAnswers = 4'096;
/// After which a request with two meanings has the one that waits for an answer.
constexpr std::chrono::milliseconds kSilence{100};
/// Without a descriptor for another client.
constexpr std::chrono::milliseconds kRest{100};
/// More is said of those that behave alike.
constexpr int kMostRemarks = 16;

struct Client {
  explicit Client(tcp::socket its_socket)
      : socket(std::move(its_socket)), silence(socket.get_executor()) {}

  tcp::socket socket;
  boost::asio::steady_timer silence;
  std::string answer{};  ///< the piece that is on its way
  std::size_t sent = 0;  ///< of it
};

class StoreLoop {
 public:
  StoreLoop(const StoreEnds& ends, const StoreJob& job)
      : is_version_6_(ends.is_version_6),
        agent_(io_, ends.agent),
        acceptor_(io_, protocol(), ends.listener),
        rest_(io_),
        expected_(job.workers),
        store_(job.workers) {
    admission_.on_remark = [this](const std::string& text) { remark(text); };
    admission_.admit_only(job.addresses);
  }

  void run() {
    wait_for_agent();
    wait_for_clients();
    while (!is_over_ && io_.run_one() > 0) {
      io_.poll();
      take_turn();
    }
  }

 private:
  [[nodiscard]] tcp protocol() const { return is_version_6_ ? tcp::v6() : tcp::v4(); }

  /// The ranks do not wait for an agent that reads nothing.
  void tell(const StoreLine& line) {
    outbox_.push_back(write_line(line));
    if (outbox_.size() == 1) {
      write_to_agent();
    }
  }
  void write_to_agent() {
    boost::asio::async_write(
        agent_, boost::asio::buffer(outbox_.front()), std::bind_front(&StoreLoop::on_told, this));
  }
  void on_told(const ErrorCode& error, std::size_t /*size*/) {
    outbox_.pop_front();
    if (!error && !outbox_.empty()) {
      write_to_agent();
    }  // else reading finds out as well
  }
  void remark(const std::string& text) {
    if (++remarks_ <= kMostRemarks) {
      tell(StoreRemark{text + (remarks_ < kMostRemarks ? "" : " (the last time that it is said)")});
    }
  }

  void wait_for_agent() {
    agent_.async_read_some(boost::asio::buffer(asked_),
                           [this](const ErrorCode& error, std::size_t) {
                             is_over_ = static_cast<bool>(error);
                             if (!error) {
                               tell_who_arrived();
                               wait_for_agent();
                             }
                           });
  }
  void wait_for_clients() {
    acceptor_.async_wait(tcp::acceptor::wait_read,
                         [this](const ErrorCode& error) { is_anybody_there_ = !error; });
  }
  void wait_for_bytes(ClientId id, Client& client) {
    client.socket.async_wait(tcp::socket::wait_read, [this, id](const ErrorCode& error) {
      if (!error) {
        readable_.push_back(id);
      }
    });
  }

  // A turn.
  void take_turn() {
    std::vector<ClientId> readable = std::exchange(readable_, {});
    std::erase_if(readable, [this](ClientId id) { return !is_still_there(id); });
    if (std::exchange(is_anybody_there_, false)) {
      accept_some();
    }
    for (const ClientId id : readable) {
      read(id);
    }
    answer_some();
    follow_arrivals();
  }

  /// Looks without taking anything. One that has closed its end is closed here.
  [[nodiscard]] bool is_still_there(ClientId id) {
    const auto at = clients_.find(id);
    if (at == clients_.end()) {
      return false;
    }
    char byte = 0;
    const ssize_t size =
        ::recv(at->second.socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    const bool is_there = size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
    if (!is_there) {
      close(id);
    }
    return is_there;
  }

  void accept_some() {
    for (int i = 0; i < kMostAccepted; ++i) {
      UniqueFd fd(
          ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!fd) {
        wait_after(errno);
        return;
      }
      tcp::socket socket(io_);
      ErrorCode error;
      socket.assign(protocol(), fd.get(), error);
      if (!error) {
        (void)fd.release();
        take_in(std::move(socket));
      }
    }
    is_anybody_there_ = true;
    boost::asio::post(io_, [] {});  // others have their turn, and then these
  }

  void wait_after(int error_number) {
    if (error_number == EMFILE || error_number == ENFILE || error_number == ENOBUFS ||
        error_number == ENOMEM) {
      rest();
    } else if (error_number != EINVAL) {  // else the agent has closed the port
      wait_for_clients();
    }
  }

  void rest() {
    if (!std::exchange(has_rested_, true)) {
      tell(StoreRemark{"no descriptor is left for another connection to the store: it waits"});
    }
    rest_.expires_after(kRest);
    rest_.async_wait([this](const ErrorCode& /*error*/) { wait_for_clients(); });
  }

  void take_in(tcp::socket socket) {
    if (!admission_.admits(socket)) {
      return;  // it closes itself
    }
    ErrorCode ignored;  // small answers are slower without it
    socket.set_option(tcp::no_delay(true), ignored);
    socket.non_blocking(true, ignored);  // else Asio waits where a piece ends with a full buffer
    const ClientId id = ++last_;
    if (const auto opened = store_.on_opened(id, peer_of(socket)); !opened) {
      remark(opened.error().message);
      return;
    }
    Client& client = clients_.try_emplace(id, std::move(socket)).first->second;
    wait_for_bytes(id, client);
  }

  void read(ClientId id) {
    const auto at = clients_.find(id);
    if (at == clients_.end()) {
      return;
    }
    Client& client = at->second;
    const ssize_t size =
        ::recv(client.socket.native_handle(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (size > 0) {
      client.silence.cancel();
      if (const auto taken = store_.on_bytes(id, {buffer_.data(), static_cast<std::size_t>(size)});
          !taken) {
        refuse(id, taken.error());
        return;
      }
      if (store_.awaits_silence(id)) {
        wait_for_silence(id, client);
      }
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
      close(id);
      return;
    }
    wait_for_bytes(id, client);
  }

  void wait_for_silence(ClientId id, Client& client) {
    client.silence.expires_after(kSilence);
    client.silence.async_wait([this, id](const ErrorCode& error) {
      if (error || !store_.awaits_silence(id)) {
        return;
      }
      if (const auto settled = store_.on_silence(id); !settled) {
        refuse(id, settled.error());
      }
    });
  }

  void refuse(ClientId id, const Error& why) {
    remark(why.message);
    close(id);
  }

  void close(ClientId id) {
    store_.on_closed(id);
    clients_.erase(id);
  }

  // Answers.
  void answer_some() {
    for (int i = 0; i < kMostAnswers; ++i) {
      auto answer = store_.next_answer();
      if (!answer) {
        return;
      }
      const auto at = clients_.find(answer->client);
      if (at != clients_.end()) {
        at->second.answer = std::move(answer->bytes);
        at->second.sent = 0;
        write(at->first, at->second);
      }
    }
    boost::asio::post(io_, [] {});  // the next turn goes on
  }

  void write(ClientId id, Client& client) {
    ErrorCode error;
    client.sent +=
        client.socket.write_some(boost::asio::buffer(client.answer) + client.sent, error);
    if (client.sent == client.answer.size()) {
      store_.on_written(id);
    } else if (error && error != boost::asio::error::would_block) {
      close(id);
    } else {
      client.socket.async_wait(tcp::socket::wait_write,
                               std::bind_front(&StoreLoop::on_writable, this, id));
    }
  }
  void on_writable(ClientId id, const ErrorCode& error) {
    if (const auto at = clients_.find(id); !error && at != clients_.end()) {
      write(id, at->second);
    }
  }

  /// The first rank of a meeting, and the last one.
  void follow_arrivals() {
    const store::Meeting meeting = store_.meeting();
    if (meeting.ranks == 0 || meeting.generation < told_.generation) {
      return;  // a later one is over already
    }
    const bool has_begun = meeting.generation > told_.generation || told_.ranks == 0;
    const bool is_complete = meeting.ranks >= expected_;
    if (has_begun || (is_complete && told_.ranks < expected_)) {
      told_ = meeting;
      tell(StoreNews{meeting.generation, expected_, is_complete});
    }
  }

  void tell_who_arrived() {
    store::Arrivals arrivals = store_.arrivals();
    const bool is_complete = arrivals.ranks.size() >= expected_;
    if (!arrivals.ranks.empty() && !is_complete) {
      tell(StoreNews{arrivals.generation, expected_, false, std::move(arrivals.ranks)});
    }
  }

  bool is_version_6_;
  boost::asio::io_context io_{1};
  boost::asio::posix::stream_descriptor agent_;
  tcp::acceptor acceptor_;
  boost::asio::steady_timer rest_;
  Admission admission_;
  std::size_t expected_;
  store::Store store_;
  store::Meeting told_;
  std::map<ClientId, Client> clients_;
  std::vector<ClientId> readable_;
  ClientId last_ = 0;
  std::deque<std::string> outbox_;  ///< for the agent
  int remarks_ = 0;
  bool has_rested_ = false;
  bool is_anybody_there_ = false;
  bool is_over_ = false;
  std::array<char, 1> asked_{};
  std::array<char, std::size_t{64} << 10U> buffer_{};
};

/// The agent takes it, and ends us: else a rank that loses its connection would be the first failure.
void say_last(int agent, const std::string& line) {
  (void)write_all(agent, line, std::chrono::seconds(1));
  pollfd readable{agent, POLLIN, 0};
  char byte = 0;
  while (::poll(&readable, 1, -1) > 0 && ::recv(agent, &byte, 1, MSG_DONTWAIT) > 0) {
  }
}

}  // namespace

void serve_store(const StoreEnds& ends, const StoreJob& job) {
  // Made now: when they are needed there is no memory for them.
  const std::string end =
      write_line(StoreEnd{"it has no memory left for what the ranks keep in it"});
  const UniqueFd agent(::fcntl(ends.agent, F_DUPFD_CLOEXEC, 0));
  std::optional<StoreLoop> loop;  // the clients of which stay connected until the agent knows
  try {
    loop.emplace(ends, job);
    loop->run();
  } catch (const std::bad_alloc&) {
    say_last(agent.get(), end);
  } catch (const std::exception& error) {
    say_last(agent.get(), write_line(StoreEnd{error.what()}));
  }
}

}  // namespace muster
