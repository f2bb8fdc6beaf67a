// A named pipe is read while writers come and go. Real pipes.
#include "services/named_pipe.hpp"

#include "base/file_io.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace muster {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class NamedPipes : public ::testing::Test, protected PipeOwner {
 protected:
  NamedPipes() : path_(std::string(::mkdtemp(folder_.data())) + "/pipe") {}
  ~NamedPipes() override { fs::remove_all(folder_); }

  void open() {
    ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    auto opened = open_pipe(io_, path_, *this);
    ASSERT_TRUE(opened) << opened.error().message;
    pipe_ = std::move(*opened);
  }
  void on_bytes(std::string_view bytes) override { read_ += bytes; }
  void on_time() override { ++woken_; }
  void write(const std::string& text) const {
    const UniqueFd writer(::open(path_.c_str(), O_WRONLY | O_NONBLOCK));
    ASSERT_TRUE(writer) << "nobody reads it";
    ASSERT_EQ(::write(writer.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  boost::asio::io_context io_;
  std::string folder_ = ::testing::TempDir() + "pipe_XXXXXX";
  std::string path_;
  std::string read_;
  int woken_ = 0;
  std::unique_ptr<NamedPipe> pipe_;
};

TEST_F(NamedPipes, AreReadWhileWritersComeAndGo) {
  open();
  write("one ");
  io_.run_one_for(10s);
  write("two");
  io_.run_one_for(10s);
  EXPECT_EQ(read_, "one two");
  EXPECT_EQ(io_.poll(), 0U) << "without a writer nothing wakes us";
}

TEST_F(NamedPipes, WakeOnceOnRequest) {
  open();
  pipe_->wake_after(1h);
  pipe_->wake_after(1ms);
  io_.run_one_for(10s);
  while (woken_ == 0 && io_.run_one_for(10s) > 0) {
  }
  EXPECT_EQ(woken_, 1);
  pipe_->wake_after(0ms);
  pipe_->wake_after(std::nullopt);
  io_.poll();
  EXPECT_EQ(woken_, 1);
}

TEST_F(NamedPipes, CallNoCallbackAfterDestruction) {
  open();
  write("late");
  pipe_->wake_after(0ms);
  pipe_.reset();
  io_.poll();
  EXPECT_EQ(read_, "");
  EXPECT_EQ(woken_, 0);
}

TEST_F(NamedPipes, AreNoFiles) {
  EXPECT_EQ(open_pipe(io_, path_, *this).error().message,
            "cannot open the pipe '" + path_ + "': No such file or directory");
  std::ofstream(path_) << "text";
  EXPECT_EQ(open_pipe(io_, path_, *this).error().message, "cannot read '" + path_ + "': it is no pipe");
}

}  // namespace
}  // namespace muster
