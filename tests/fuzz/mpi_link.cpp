// The link by which mpirun's remote shell has a command run: what strangers say to the daemon, what they say to the
// agent, and a command that has to arrive as it is. The first byte chooses.
//
// Proofs are replaced by one constant of 64 letters, which a fuzzer can find.
#include "services/mpi/mpi_link.hpp"

#include "fuzz.hpp"
#include "gang/net/token.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace muster::gang {

std::string prove(std::string_view /*secret*/, std::string_view /*text*/) {
  return std::string(64, 'p');
}

bool is_proof(std::string_view proof, std::string_view secret, std::string_view text) {
  return proof == prove(secret, text);
}

}  // namespace muster::gang

namespace muster::fuzz {
namespace {

constexpr std::size_t kProof = 64;
constexpr std::size_t kLength = 4;
const std::string kDigits(32, '1');

/// A link whose other end sends bytes in pieces, and no more.
struct Link {
  explicit Link(std::string_view bytes) : unsent(bytes) {
    int both[2] = {-1, -1};
    require(::socketpair(AF_UNIX, SOCK_STREAM, 0, both) == 0, "a pair of sockets");
    own = UniqueFd(both[0]);
    other = UniqueFd(both[1]);
    send_piece(0);
  }
  void send_piece(std::size_t size) {
    const std::string_view piece = unsent.substr(0, size);
    const ssize_t sent = piece.empty() ? 0 : ::send(other.get(), piece.data(), piece.size(), 0);
    require(sent == static_cast<ssize_t>(piece.size()), "a piece is sent at once");
    unsent.remove_prefix(piece.size());
    if (unsent.empty()) {
      ::shutdown(other.get(), SHUT_WR);
    }
  }
  /// The answer of the tested side.
  std::string answer() {
    own.reset();
    std::string all;
    char buffer[8'192];
    for (ssize_t got = 1; got > 0;) {
      got = ::read(other.get(), buffer, sizeof buffer);
      all.append(buffer, static_cast<std::size_t>(got > 0 ? got : 0));
    }
    return all;
  }

  std::string_view unsent;
  UniqueFd own;
  UniqueFd other;
};

Deadline soon() {
  return Deadline(std::chrono::seconds(5));
}

/// As the daemon takes a command: in the pieces that arrive.
Result<std::string> take_command(Link& link) {
  const int fd = link.own.get();
  CommandReader reader("secret", kDigits);
  if (auto sent = send_all(fd, reader.digits(), soon()); !sent) {
    return sent.error();
  }
  while (true) {
    link.send_piece(7);
    const auto bytes = receive_some(fd, reader.wanted());
    const auto whole = bytes ? reader.feed(*bytes) : Result<bool>(bytes.error());
    if (!whole) {
      return whole.error();
    }
    if (*whole) {
      const auto written = send_all(fd, reader.answer(), soon());
      return written ? Result<std::string>(reader.command()) : written.error();
    }
  }
}

void tell_daemon(std::string_view bytes) {
  Link link(bytes);
  const auto command = take_command(link);
  if (command) {
    require(bytes.substr(kLength).starts_with(gang::prove("", "")), "who knows no secret gets nothing run");
    require(bytes.substr(kLength + kProof).starts_with(*command), "what was sent is run");
  }
  require(link.answer().size() == 32 + (command ? kProof : 0), "digits, and then a proof");
}

void tell_agent(std::string_view bytes) {
  Link link(bytes);
  link.send_piece(bytes.size());
  const auto asked = ask_for_command(link.own.get(), "secret", "orted", soon());
  require(asked.has_value() == (bytes.size() >= 32 + kProof && bytes.substr(32).starts_with(gang::prove("", ""))),
          "who knows no secret is no daemon");
}

void send_command(std::string_view command) {
  const std::string said = kDigits + gang::prove("", "");
  Link daemon(said);
  daemon.send_piece(said.size());
  require(ask_for_command(daemon.own.get(), "secret", command, soon()).has_value(), "it is asked");
  const std::string asked = daemon.answer();
  Link agent(asked);
  const auto taken = take_command(agent);
  require(taken && *taken == command, "a command arrives as it is");
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  if (size == 0) {
    return 0;
  }
  const std::string_view text = fuzz::text_of(data, size).substr(1);
  switch (data[0] % 3) {
    case 0:
      fuzz::tell_daemon(text);
      break;
    case 1:
      fuzz::tell_agent(text);
      break;
    default:
      fuzz::send_command(text);
  }
  return 0;
}
