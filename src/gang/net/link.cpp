// Implements a link on Asio. Reads when the socket is readable, into one buffer for all links.
#include "gang/net/link.hpp"

#include "base/frame.hpp"
#include "gang/net/outbox.hpp"
#include "gang/net/resolver.hpp"
#include "gang/protocol/message_encoding.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <utility>

namespace muster::gang {

// Describes the end of a link.

std::string describe_end(const boost::system::error_code& error) {
  if (error == boost::asio::error::eof) {
    return "closed the connection";
  }
  if (error == boost::asio::error::connection_reset || error == boost::asio::error::broken_pipe) {
    return "reset the connection";
  }
  return "cannot be reached any more (" + error.message() + ")";
}

bool concerns_token(std::string_view why) {
  return why.find("token") != std::string_view::npos;
}

std::string describe_missing_join(std::chrono::milliseconds limit) {
  std::string seconds = std::to_string(std::chrono::duration<double>(limit).count());
  seconds.erase(seconds.find_last_not_of('0') + 1);
  return "sent no join within " + (seconds.ends_with('.') ? seconds.substr(0, seconds.size() - 1) : seconds) + " s";
}

namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::seconds kLinger{5};  ///< time that a closing link waits for its other end
/// Sizes of one protected record, and of what one link writes before other links have their turn.
constexpr std::size_t kBytesOfRecord = std::size_t{16} << 10U;
constexpr std::size_t kBytesOfTurn = std::size_t{64} << 10U;

}  // namespace

/// State of a link that pending operations keep alive after the `Link` is destroyed.
class Link::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, const GangKey* key, Side side, LinkOwner& owner, LinkId number)
      : owner_(&owner),
        number_(number),
        side_(side),
        socket_(std::move(socket)),
        channel_(make_channel(key, side)),
        reader_(side == Side::Leader ? kMostJoinBytes : kMostMessageBytes) {
    error_code ignored;  // a broken socket fails when it is read
    peer_ = unmapped(socket_.remote_endpoint(ignored).address());
    local_ = unmapped(socket_.local_endpoint(ignored).address());
    socket_.non_blocking(true, ignored);
    socket_.set_option(tcp::no_delay(true), ignored);
  }

  void start(std::chrono::milliseconds join_limit) {
    is_started_ = true;
    if (side_ == Side::Leader) {
      wait_for_join(join_limit);
    }
    flush();  // the first flight of TLS
    wait_for_bytes();
  }

  void send(const Message& message) {
    if (state_ != State::Open || write_error_) {
      return;
    }
    std::string framed = frame(encode(message));
    if (std::holds_alternative<Heartbeat>(message)) {
      outbox_.add_before_bulk(std::move(framed));
    } else if (is_piece(message)) {
      outbox_.add_bulk(std::make_shared<const std::string>(std::move(framed)));
    } else {
      outbox_.add(std::move(framed));
    }
    flush();
  }

  void send_shared(const Outbox::Frame& frame) {
    if (state_ == State::Open && !write_error_) {
      outbox_.add_bulk(frame);
      flush();
    }
  }

  void close_when_sent() {
    if (state_ != State::Open) {
      return;
    }
    state_ = State::Leaving;
    if (!is_started_ || !channel_->is_established()) {
      close();
      return;
    }
    wait_until(kLinger, [](Connection& self) { self.close(); });
    if (queue_.empty() && outbox_.is_empty()) {
      shut_down();
    }
  }

  void reset() {
    error_code ignored;  // on failure it is closed like other sockets
    socket_.set_option(tcp::socket::linger(true, 0), ignored);
    owner_ = nullptr;
    close();
  }

  /// Called when the `Link` is destroyed.
  void abandon() {
    owner_ = nullptr;
    if (state_ == State::Open) {
      shut();
    }
  }

  const boost::asio::ip::address& peer() const { return peer_; }
  const boost::asio::ip::address& local() const { return local_; }

 private:
  enum class State {
    Open,
    Leaving,  ///< delivers nothing any more; writes the rest of the queue
    Closed
  };

  // --- Reading ---

  void wait_for_join(std::chrono::milliseconds limit) {
    waits_for_join_ = true;
    wait_until(limit, [limit](Connection& self) {
      if (self.waits_for_join_ && self.has_unread_bytes()) {
        self.wait_for_join(limit);  // thousands came at once, and this loop is behind
      } else if (self.waits_for_join_) {
        self.lose(describe_missing_join(limit));
      }
    });
  }

  bool has_unread_bytes() const {
    error_code none;  // a broken socket fails when it is read
    return socket_.available(none) > 0;
  }

  void wait_for_bytes() {
    socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const error_code& error) {
      if (!error && self->state_ != State::Closed) {
        self->read_once();
      }
    });
  }

  void read_once() {
    static std::array<char, std::size_t{64} << 10U> buffer;  // shared: the bytes are copied at once
    error_code error;
    const std::size_t size = socket_.read_some(boost::asio::buffer(buffer), error);
    if (error && error != boost::asio::error::would_block && error != boost::asio::error::interrupted) {
      end(error);
      return;
    }
    if (size > 0 && state_ == State::Open) {
      take({buffer.data(), size});
    }
    if (state_ != State::Closed) {
      wait_for_bytes();
    }
  }

  void end(const error_code& error) {
    // If writing failed first, the write error holds the reason.
    const bool is_end = error == boost::asio::error::eof;
    lose(describe_end(is_end && write_error_ ? write_error_ : error));
    close();
  }

  void take(std::string_view wire) {
    const auto plaintext = channel_->receive(wire);
    flush();  // after an error too: the channel may have an alert to send
    if (!plaintext) {
      lose(plaintext.error().message);
      return;
    }
    if (waits_for_join_) {
      owner_->on_bytes_before_join(number_, channel_->is_established());
    }
    reader_.feed(*plaintext);
    while (state_ == State::Open) {
      const auto payload = reader_.next();
      if (!payload) {
        lose("sent no muster message: " + payload.error().message);
        return;
      }
      if (!*payload) {
        return;
      }
      deliver(**payload);
    }
  }

  void deliver(std::string_view payload) {
    auto message = decode(payload);
    if (!message) {
      lose("sent no muster message: " + message.error().message);
      return;
    }
    if (waits_for_join_) {
      if (!std::holds_alternative<Join>(*message)) {
        lose(std::string("sent '") + name_of(*message) + "' first, expected 'join'");
        return;
      }
      waits_for_join_ = false;
      timer_.reset();
      reader_.set_limit(kMostMessageBytes);
    }
    owner_->on_message(number_, std::move(*message));
  }

  // --- Writing ---

  /// Moves the channel's own bytes to the queue first: a handshake, an alert.
  void flush() {
    queue_ += channel_->take_outgoing();
    if (write_error_) {
      drop_queue();
      return;  // the reader reports the end, after the peer's last messages
    }
    if (outbox_.other() + queue_.size() > kMostQueuedBytes || outbox_.bulk() > kMostBulkBytes ||
        outbox_.overtaking() > kMostQueuedHeartbeats) {
      lose_soon("does not read what it is sent");
    } else if (!waits_to_write_) {
      write();
    }
  }

  /// Writes in turns: after some bytes of a large value the other links follow.
  void write() {
    for (std::size_t turn = 0; fill_queue();) {
      if (turn >= kBytesOfTurn) {
        wait_to_write();
        return;
      }
      error_code error;
      const std::size_t size = socket_.write_some(boost::asio::buffer(queue_), error);
      if (error == boost::asio::error::would_block) {
        wait_to_write();
        return;
      }
      if (error && error != boost::asio::error::interrupted) {
        write_error_ = error;
        drop_queue();
        return;
      }
      turn += size;
      queue_.erase(0, size);
    }
    queue_ = std::string();  // an idle link holds no memory
    if (state_ == State::Leaving && outbox_.is_empty()) {
      shut_down();
    }
  }

  /// Protects a part of the send queue. Returns whether there is something to write.
  bool fill_queue() {
    if (queue_.empty() && !outbox_.is_empty() && channel_->is_established()) {
      const std::string_view next = outbox_.next(kBytesOfRecord);
      channel_->send(next);
      outbox_.pop(next.size());
      queue_ = channel_->take_outgoing();
    }
    return !queue_.empty();
  }

  void drop_queue() {
    queue_ = std::string();
    outbox_.clear();
    if (state_ == State::Leaving) {
      close();
    }
  }

  void wait_to_write() {
    waits_to_write_ = true;
    socket_.async_wait(tcp::socket::wait_write, [self = shared_from_this()](const error_code& error) {
      self->waits_to_write_ = false;
      if (!error && self->state_ != State::Closed) {
        self->write();
      }
    });
  }

  // --- The end ---

  /// Shuts down the sending side. close(2) with unread bytes in the socket would reset the connection, and the other
  /// end would lose what it has not read yet.
  void shut_down() {
    error_code error;
    socket_.shutdown(tcp::socket::shutdown_send, error);
    if (error) {
      close();
    }
  }

  void lose(const std::string& why) {
    if (state_ == State::Open) {
      close();
      owner_->on_lost(number_, why);
    }
  }

  void lose_soon(std::string why) {
    write_error_ = boost::asio::error::no_buffer_space;  // nothing is queued after this
    drop_queue();
    boost::asio::post(socket_.get_executor(), [self = shared_from_this(), why = std::move(why)] { self->lose(why); });
  }

  void close() {
    if (state_ == State::Leaving) {
      boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
        if (self->owner_ != nullptr) {
          self->owner_->on_closed(self->number_);
        }
      });
    }
    shut();
  }

  void shut() {
    state_ = State::Closed;
    timer_.reset();
    queue_ = std::string();
    outbox_.clear();
    error_code ignored;  // nothing is left to write
    socket_.close(ignored);
  }

  template <typename Then>
  void wait_until(std::chrono::milliseconds limit, Then then) {
    timer_ = std::make_unique<boost::asio::steady_timer>(socket_.get_executor(), limit);
    timer_->async_wait([self = shared_from_this(), then = std::move(then)](const error_code& error) {
      if (!error && self->state_ != State::Closed) {
        then(*self);
      }
    });
  }

  LinkOwner* owner_;  ///< null: no event follows
  LinkId number_;
  Side side_;
  State state_ = State::Open;
  bool is_started_ = false;
  bool waits_for_join_ = false;
  bool waits_to_write_ = false;
  error_code write_error_;
  tcp::socket socket_;
  std::unique_ptr<Channel> channel_;
  FrameReader reader_;
  Outbox outbox_;                                     ///< not yet given to the channel
  std::string queue_;                                 ///< wire bytes that the socket has not taken
  std::unique_ptr<boost::asio::steady_timer> timer_;  ///< for the join, then for the end
  boost::asio::ip::address peer_;
  boost::asio::ip::address local_;
};

Link::Link(tcp::socket socket, const GangKey* key, Side side, LinkOwner& owner, LinkId number)
    : connection_(std::make_shared<Connection>(std::move(socket), key, side, owner, number)) {}

Link::~Link() {
  connection_->abandon();
}

void Link::start(std::chrono::milliseconds join_limit) {
  connection_->start(join_limit);
}

void Link::send(const Message& message) {
  connection_->send(message);
}

void Link::send_shared(const std::shared_ptr<const std::string>& frame) {
  connection_->send_shared(frame);
}

void Link::close_when_sent() {
  connection_->close_when_sent();
}

void Link::reset() {
  connection_->reset();
}

std::string Link::peer_address() const {
  return connection_->peer().to_string();
}

std::string Link::local_address() const {
  return connection_->local().to_string();
}

}  // namespace muster::gang
