// From a file to a token, and from a token to a key.
#include "gang/net/token.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace muster::gang {
namespace {

std::string hex_of(const GangKey& key) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : key.bytes()) {
    hex += kDigits[byte / 16];
    hex += kDigits[byte % 16];
  }
  return hex;
}

class TokenFileTest : public testing::Test {
 protected:
  TokenFileTest() {
    std::string pattern = testing::TempDir() + "muster-token-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~TokenFileTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& content, mode_t mode = 0600) {
    const std::string path = folder_ + "/token";
    std::ofstream(path) << content;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  static std::string error_of(const std::string& path) {
    const auto file = read_token_file(path);
    return file ? "it was read" : file.error().message;
  }

  std::string folder_;
};

TEST(GangKey, IsTheSameEverywhere) {
  // Computed with another implementation of RFC 5869.
  const auto key = GangKey::derive("correct horse battery staple");
  ASSERT_TRUE(key);
  EXPECT_EQ(hex_of(*key), "df0d86f6f02f0a18dbdc27f86ea03699d57ebe33ea9e02ce17bab0ae7cc9e35a");
}

TEST(GangKey, DiffersForEachToken) {
  EXPECT_NE(hex_of(*GangKey::derive("0123456789abcdef")), hex_of(*GangKey::derive("0123456789abcdeg")));
}

TEST(GangKey, DoesNotCountOneLineEnd) {
  const std::string key = hex_of(*GangKey::derive("0123456789abcdef"));
  EXPECT_EQ(hex_of(*GangKey::derive("0123456789abcdef\n")), key);
  EXPECT_EQ(hex_of(*GangKey::derive("0123456789abcdef\r\n")), key);
  EXPECT_NE(hex_of(*GangKey::derive("0123456789abcdef\n\n")), key);
}

TEST(GangKey, IsRefusedForAShortToken) {
  for (const char* const token : {"", "\n", "0123456789abcde", "0123456789abcde\n"}) {
    const auto key = GangKey::derive(token);
    ASSERT_FALSE(key);
    EXPECT_EQ(key.error().kind, ErrorKind::BadEnvironment);
  }
  EXPECT_EQ(GangKey::derive("secret").error().message, "the token has 6 bytes, expected at least 16");
}

TEST(GangKey, MovesAndIsForgottenWhereItWas) {
  auto key = GangKey::derive("0123456789abcdef");
  const std::string hex = hex_of(*key);
  const GangKey moved = std::move(*key);
  EXPECT_EQ(hex_of(moved), hex);
  EXPECT_EQ(hex_of(*key), std::string(64, '0'));  // NOLINT(bugprone-use-after-move)
}

TEST_F(TokenFileTest, IsReadWhole) {
  const auto file = read_token_file(write("0123456789abcdef\n"));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->token, "0123456789abcdef\n");
  EXPECT_EQ(file->warning, "");
}

TEST_F(TokenFileTest, WarnsWhenOthersMayReadIt) {
  const std::string path = write("0123456789abcdef", 0644);
  EXPECT_EQ(read_token_file(path)->warning, "the token file '" + path + "' may be read by others than its owner");
}

TEST_F(TokenFileTest, ReportsWhyItCannotBeRead) {
  EXPECT_EQ(error_of(folder_ + "/none"),
            "cannot read the token file '" + folder_ + "/none': No such file or directory");
  EXPECT_EQ(error_of(folder_), "cannot read the token file '" + folder_ + "': it is no regular file");
}

TEST_F(TokenFileTest, IsNoPipeThatWouldWait) {
  const std::string path = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(error_of(path), "cannot read the token file '" + path + "': it is no regular file");
}

TEST_F(TokenFileTest, HasALimit) {
  EXPECT_EQ(error_of(write(std::string(kMostTokenBytes, 'x'))), "it was read");
  const std::string path = write(std::string(kMostTokenBytes + 1, 'x'));
  EXPECT_EQ(error_of(path), "cannot read the token file '" + path + "': it has 65537 bytes, expected at most 65536");
}

TEST(Token, IsWeakWhereItHasFewDifferentBytes) {
  EXPECT_TRUE(is_weak(std::string(64, 'x')));
  EXPECT_TRUE(is_weak("0101010101010101"));
  EXPECT_FALSE(is_weak("correct horse battery staple"));
}

}  // namespace
}  // namespace muster::gang
