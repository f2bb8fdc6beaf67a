// Reads a named pipe. It is open for writing as well: without a writer, reading would meet EOF and wake the loop
// without a pause.
#include "services/named_pipe.hpp"

#include "base/file_io.hpp"
#include "process/timer.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <utility>

namespace muster {
namespace {

using ErrorCode = boost::system::error_code;

class ReadPipe final : public NamedPipe {
 public:
  ReadPipe(boost::asio::io_context& io, UniqueFd pipe, PipeOwner& owner)
      : pipe_(io, pipe.release()), timer_(io), owner_(owner) {
    read();
  }

  void wake_after(std::optional<std::chrono::nanoseconds> delay) override {
    timer_.cancel();
    if (delay) {
      timer_.start(*delay, [this] { owner_.on_time(); });
    }
  }

 private:
  void read() {
    pipe_.async_read_some(boost::asio::buffer(buffer_), scope_.wrap([this](const ErrorCode& error, std::size_t size) {
      if (!error) {
        owner_.on_bytes({buffer_.data(), size});
        read();
      }
    }));
  }

  boost::asio::posix::stream_descriptor pipe_;
  Timer timer_;
  PipeOwner& owner_;
  std::array<char, std::size_t{16} << 10U> buffer_{};
  CallbackScope scope_;
};

}  // namespace

Result<std::unique_ptr<NamedPipe>> open_pipe(boost::asio::io_context& io, const std::string& path, PipeOwner& owner) {
  UniqueFd pipe(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!pipe || ::fstat(pipe.get(), &status) != 0) {
    return system_error("cannot open the pipe '" + path + "'", errno);
  }
  if (!S_ISFIFO(status.st_mode)) {
    return Error{ErrorKind::System, "cannot read '" + path + "': it is no pipe"};
  }
  return std::unique_ptr<NamedPipe>(std::make_unique<ReadPipe>(io, std::move(pipe), owner));
}

}  // namespace muster
