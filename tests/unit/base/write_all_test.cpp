// Bytes to a file, to a full pipe, to a full disk.
#include "base/file_io.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace muster {
namespace {

TEST(WriteAll, WritesEveryByte) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);

  const WriteResult written = write_all(writer.get(), "all of it");

  EXPECT_EQ(written.missing, 0U);
  EXPECT_EQ(written.error_number, 0);
  std::string seen(16, '\0');
  seen.resize(static_cast<std::size_t>(::read(reader.get(), seen.data(), seen.size())));
  EXPECT_EQ(seen, "all of it");
}

TEST(WriteAll, CountsWhatADiskDoesNotTake) {
  const UniqueFd full(::open("/dev/full", O_WRONLY));

  const WriteResult written = write_all(full.get(), "12345");

  EXPECT_EQ(written.missing, 5U);
  EXPECT_EQ(written.error_number, ENOSPC);
}

TEST(WriteAll, WaitsForNoReaderWithoutPatience) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  const std::string much(std::size_t{1} << 20U, 'x');

  const WriteResult written = write_all(writer.get(), much);

  EXPECT_GT(written.missing, 0U);
  EXPECT_LT(written.missing, much.size());
  EXPECT_EQ(written.error_number, EAGAIN);
}

}  // namespace
}  // namespace muster
