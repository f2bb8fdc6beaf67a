#pragma once

// The secret that agents of a job share, and the key that is made of it. docs/gang.md says where a
// token comes from.

#include "base/result.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace muster::gang {

inline constexpr std::size_t kLeastTokenBytes = 16;
/// Random ones, as `muster token` draws them: who records a handshake can try tokens for as long as he likes.
inline constexpr std::size_t kGoodTokenBytes = 32;
inline constexpr std::size_t kMostTokenBytes = std::size_t{64} << 10U;

/// The key of a job's links: who has the token has it. Forgotten in memory when it is destroyed.
class GangKey {
 public:
  static constexpr std::size_t kBytes = 32;

  /// One line end behind the token does not count. Fails with `BadEnvironment` when the token is
  /// shorter than kLeastTokenBytes; the message says neither the token nor where it came from.
  [[nodiscard]] static Result<GangKey> derive(std::string_view token);

  GangKey(GangKey&& other) noexcept;
  GangKey& operator=(GangKey&& other) noexcept;
  GangKey(const GangKey&) = delete;
  GangKey& operator=(const GangKey&) = delete;
  ~GangKey();

  [[nodiscard]] std::span<const unsigned char, kBytes> bytes() const { return bytes_; }

 private:
  GangKey() = default;

  std::array<unsigned char, kBytes> bytes_{};
};

/// A token that is easily guessed, such as one letter many times. No other way to guess is tried here.
[[nodiscard]] bool is_weak(std::string_view token);

struct TokenFile {
  std::string token;    ///< as it is in the file
  std::string warning;  ///< for the user: others may read the file; empty: all is well
};

/// Fails with `BadEnvironment` when it is no regular file, cannot be read or is too long.
[[nodiscard]] Result<TokenFile> read_token_file(const std::string& path);

/// The version of the library that makes the key and the links, such as "3.0.17".
[[nodiscard]] std::string openssl_version();

// How two programs of one job show each other that they know its secret, which neither of them sends.

/// Random bytes as hexadecimal digits: a secret of one job, or what is asked once.
[[nodiscard]] std::string random_digits(std::size_t count = 16);

/// 64 hexadecimal digits (HMAC with SHA-256) that only who has the secret can give for this text.
[[nodiscard]] std::string prove(std::string_view secret, std::string_view text);

/// True of those digits, compared in a time that says nothing about them.
[[nodiscard]] bool is_proof(std::string_view proof, std::string_view secret, std::string_view text);

}  // namespace muster::gang
