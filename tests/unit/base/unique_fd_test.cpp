// One owner, closed once.
#include "base/file_io.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>

#include <utility>

namespace muster {
namespace {

int open_one() {
  return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

TEST(UniqueFd, ClosesAtTheEndOfItsLife) {
  const int fd = open_one();
  {
    const UniqueFd owner(fd);
    EXPECT_TRUE(is_open(fd));
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(UniqueFd, GivesItsDescriptorToTheOneItIsMovedTo) {
  const int fd = open_one();
  UniqueFd owner(fd);
  const UniqueFd next(std::move(owner));

  EXPECT_EQ(next.get(), fd);
  EXPECT_FALSE(static_cast<bool>(owner));  // NOLINT(bugprone-use-after-move): that is the question
}

TEST(UniqueFd, ClosesTheOldOneOnAssignment) {
  const int old_fd = open_one();
  const int new_fd = open_one();
  UniqueFd owner(old_fd);
  owner = UniqueFd(new_fd);

  EXPECT_FALSE(is_open(old_fd));
  EXPECT_EQ(owner.get(), new_fd);
}

TEST(UniqueFd, SurvivesAMoveToItself) {
  const int fd = open_one();
  UniqueFd owner(fd);
  UniqueFd& alias = owner;
  owner = std::move(alias);

  EXPECT_EQ(owner.get(), fd);
  EXPECT_TRUE(is_open(fd));
}

TEST(UniqueFd, LeavesOpenWhatWasReleased) {
  UniqueFd owner(open_one());
  const int fd = owner.release();

  owner.reset();

  EXPECT_TRUE(is_open(fd));
  ::close(fd);
}

}  // namespace
}  // namespace muster
