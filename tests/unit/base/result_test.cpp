// Errors with their exit codes and texts, and the use of an unchecked Result.
#include "base/result.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <stdexcept>

namespace muster {
namespace {

TEST(Error, KnowsItsExitCode) {
  EXPECT_EQ((Error{ErrorKind::BadUsage, ""}.exit_code()), 64);
  EXPECT_EQ((Error{ErrorKind::BadData, ""}.exit_code()), 65);
  EXPECT_EQ((Error{ErrorKind::System, ""}.exit_code()), 71);
  EXPECT_EQ((Error{ErrorKind::BadEnvironment, ""}.exit_code()), 78);
  EXPECT_EQ((Error{ErrorKind::NotExecutable, ""}.exit_code()), 126);
  EXPECT_EQ((Error{ErrorKind::NotFound, ""}.exit_code()), 127);
}

TEST(SystemError, HasTheKernelsErrorText) {
  const Error error = system_error("cannot write 'log'", ENOSPC);

  EXPECT_EQ(error.kind, ErrorKind::System);
  EXPECT_EQ(error.message, "cannot write 'log': No space left on device");
}

TEST(Result, ThatIsUsedUncheckedIsABug) {
  const Result<int> result = Error{ErrorKind::System, "no more memory cards"};

  try {
    (void)result.value();
    FAIL() << "value() of a failure must throw";
  } catch (const std::logic_error& bug) {
    EXPECT_NE(std::string(bug.what()).find("no more memory cards"), std::string::npos);
  }
}

}  // namespace
}  // namespace muster
