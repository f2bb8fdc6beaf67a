// Runs getaddrinfo(3) in a detached thread, which wakes the loop through an eventfd. Where no thread can be started
// (seccomp filters of old container runtimes refuse clone3, or the process limit is reached), getaddrinfo runs in
// place, for a few seconds at most. Also converts peer addresses and finds this machine's addresses.
#include "gang/net/resolver.hpp"

#include "base/file_io.hpp"
#include "environment/local_host.hpp"
#include "gang/net/dialer.hpp"

#include <boost/asio/ip/network_v6.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

namespace muster::gang {

// Peer addresses.

using boost::asio::ip::address;

address unmapped(const address& mapped) {
  return mapped.is_v6() && mapped.to_v6().is_v4_mapped()
             ? address(boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, mapped.to_v6()))
             : mapped;
}

std::string source_prefix_of(const address& peer) {
  constexpr unsigned short kHalf = 64;
  return peer.is_v6() ? boost::asio::ip::make_network_v6(peer.to_v6(), kHalf).canonical().to_string()
                      : peer.to_string();
}

// Addresses of this machine.

namespace {

/// Of IPv4 or IPv6.
address address_of(const sockaddr& from) {
  boost::asio::ip::tcp::endpoint endpoint;
  std::memcpy(endpoint.data(), &from, from.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  return endpoint.address();
}

/// Normalizes an address: IPv4-mapped becomes IPv4, IPv6 loses its scope id.
address plain(const address& given) {
  const address bare = unmapped(given);
  return bare.is_v6() ? address(boost::asio::ip::address_v6(bare.to_v6().to_bytes())) : bare;
}

}  // namespace

std::vector<address> local_addresses() {
  std::vector<address> addresses;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) {
    return addresses;
  }
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    const int family = at->ifa_addr != nullptr ? at->ifa_addr->sa_family : AF_UNSPEC;
    if ((family == AF_INET || family == AF_INET6) && (at->ifa_flags & IFF_UP) != 0) {
      addresses.push_back(address_of(*at->ifa_addr));
    }
  }
  ::freeifaddrs(first);
  return addresses;
}

bool is_own(const address& given) {
  const address wanted = plain(given);
  if (wanted.is_loopback()) {
    return true;
  }
  const std::vector<address> own = local_addresses();
  return std::any_of(own.begin(), own.end(), [&](const address& one) { return plain(one) == wanted; });
}

namespace {

using boost::system::error_code;

/// Data that the lookup's thread and the loop share. The last of the two to release it destroys it.
struct Question {
  std::string host;
  UniqueFd done;
  std::atomic<bool> is_answered{false};  ///< when true, the members below may be read
  int error = 0;
  int error_number = 0;
  Resolver::Addresses addresses;
};

void collect(const addrinfo* first, Resolver::Addresses& addresses) {
  for (const addrinfo* at = first; at != nullptr; at = at->ai_next) {
    const boost::asio::ip::address address = address_of(*at->ai_addr);
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end()) {
      addresses.push_back(address);
    }
  }
}

void answer(Question& question) {
  choose_name_services();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;  // otherwise each address is listed three times
  addrinfo* found = nullptr;
  question.error = ::getaddrinfo(question.host.c_str(), nullptr, &hints, &found);
  question.error_number = errno;
  if (question.error == 0) {
    collect(found, question.addresses);
    ::freeaddrinfo(found);
  } else {
    // Resolves localhost, also in an image without /etc/hosts.
    if (question.host == "localhost") {
      question.error = 0;
      question.addresses = {boost::asio::ip::address_v4::loopback()};
    }
  }
  question.is_answered = true;
  const std::uint64_t one = 1;
  (void)!::write(question.done.get(), &one, sizeof one);  // the first write to an eventfd never fails
}

std::string describe(int error, int error_number) {
  switch (error) {
    case 0:
    case EAI_NODATA:
      return "the name has no address";
    case EAI_NONAME:
      return "no such name in /etc/hosts or DNS";
    case EAI_AGAIN:
      return ::access("/etc/resolv.conf", R_OK) == 0 ? "temporary failure in name resolution"
                                                     : "not in /etc/hosts, and no /etc/resolv.conf names a name server";
    case EAI_SYSTEM:
      return std::generic_category().message(error_number);
    default:
      return ::gai_strerror(error);
  }
}

Result<Resolver::Addresses> result_of(Question& question) {
  if (question.error != 0 || question.addresses.empty()) {
    return Error{ErrorKind::System, describe(question.error, question.error_number)};
  }
  return std::move(question.addresses);
}

/// Starts the thread with all signals blocked: they belong to the loop. False if no thread can be started.
bool start_thread(std::shared_ptr<Question> question) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  bool is_started = true;
  try {
    std::thread([question = std::move(question)] { answer(*question); }).detach();
  } catch (const std::system_error&) {
    is_started = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return is_started;
}

}  // namespace

/// The loop's side of a lookup. Lives until it is done or cancelled.
class Resolver::Lookup : public std::enable_shared_from_this<Lookup> {
 public:
  Lookup(boost::asio::io_context& io, Callback callback) : io_(io), done_(io), callback_(std::move(callback)) {}

  void start(const std::string& host, WithoutThread without_thread) {
    error_code no_number;
    const auto address = boost::asio::ip::make_address(host, no_number);
    if (!no_number) {
      finish_soon(Addresses{address});
      return;
    }
    if (const int error_number = ask(host, without_thread); error_number != 0) {
      finish_soon(system_error("cannot start a look-up", error_number));
    }
  }

  void leave() {
    is_left_ = is_left_ || callback_ != nullptr;
    callback_ = nullptr;
  }

  /// Continues a lookup that was left, if it is for this name; otherwise returns false.
  bool take_up(const std::string& host, Callback& callback) {
    if (!is_left_ || !question_ || question_->host != host) {
      return false;
    }
    is_left_ = false;
    callback_ = std::move(callback);
    if (is_over_) {
      finish_soon(result_of(*question_));
    }
    return true;
  }

  void cancel() {
    callback_ = nullptr;
    error_code ignored;  // the descriptor is closed in any case
    done_.close(ignored);
  }

 private:
  /// Returns 0 or an errno.
  int ask(const std::string& host, WithoutThread without_thread) {
    UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    question_ = std::make_shared<Question>();
    question_->host = host;
    question_->done = UniqueFd(event ? ::fcntl(event.get(), F_DUPFD_CLOEXEC, 0) : -1);
    if (!question_->done) {
      return errno;
    }
    error_code error;
    done_.assign(event.get(), error);
    if (error) {
      return error.value();
    }
    (void)event.release();  // the descriptor owns it
    done_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [self = shared_from_this()](const error_code& aborted) {
                       if (!aborted && self->question_->is_answered) {
                         self->on_answer();
                       }
                     });
    if (!start_thread(question_) && without_thread == WithoutThread::Wait) {
      bound_lookup();
      answer(*question_);  // makes the eventfd readable, so the loop calls back
    }
    return 0;
  }

  void on_answer() {
    is_over_ = true;
    if (callback_) {
      finish(result_of(*question_));
    }
  }

  void finish_soon(Result<Addresses> result) {
    boost::asio::post(
        io_, [self = shared_from_this(), result = std::move(result)]() mutable { self->finish(std::move(result)); });
  }

  void finish(Result<Addresses> result) {
    if (const Callback callback = std::exchange(callback_, nullptr)) {
      callback(std::move(result));
    }
  }

  boost::asio::io_context& io_;
  boost::asio::posix::stream_descriptor done_;
  Callback callback_;
  std::shared_ptr<Question> question_;
  bool is_left_ = false;
  bool is_over_ = false;
};

void Resolver::resolve(const std::string& host, Callback callback, WithoutThread without_thread) {
  if (lookup_ && lookup_->take_up(host, callback)) {
    return;
  }
  cancel();
  lookup_ = std::make_shared<Lookup>(io_, std::move(callback));
  lookup_->start(host, without_thread);
}

void Resolver::leave() {
  if (lookup_) {
    lookup_->leave();
  }
}

void Resolver::cancel() {
  if (const auto lookup = std::exchange(lookup_, nullptr)) {
    lookup->cancel();
  }
}

}  // namespace muster::gang
