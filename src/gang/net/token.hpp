#pragma once

// Reads the secret token that a job's agents share, derives a key from it, and proves that a process knows a secret.
// docs/gang.md says where a token comes from. Computes checksums, too, because only this folder uses OpenSSL.

#include "base/result.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace muster::gang {

inline constexpr std::size_t kLeastTokenBytes = 16;
/// Size of the random tokens of `muster token`. It is this large because an attacker who records a handshake can try
/// out tokens without limit.
inline constexpr std::size_t kGoodTokenBytes = 32;
inline constexpr std::size_t kMostTokenBytes = std::size_t{64} << 10U;

/// The key of a job's links, derived from the token. Erased from memory on destruction.
class GangKey {
 public:
  static constexpr std::size_t kBytes = 32;

  /// Derives the key. One line end after the token is ignored. Fails with `BadEnvironment` if the token is shorter
  /// than kLeastTokenBytes; the message contains neither the token nor its source.
  [[nodiscard]] static Result<GangKey> derive(std::string_view token);

  GangKey(GangKey&& other) noexcept;
  GangKey& operator=(GangKey&& other) noexcept;
  GangKey(const GangKey&) = delete;
  GangKey& operator=(const GangKey&) = delete;
  ~GangKey();

  std::span<const unsigned char, kBytes> bytes() const { return bytes_; }

 private:
  GangKey() = default;

  std::array<unsigned char, kBytes> bytes_{};
};

/// True for a token that is easily guessed, such as one repeated letter. Checks no other weakness.
bool is_weak(std::string_view token);

struct TokenFile {
  std::string token;    ///< content of the file
  std::string warning;  ///< for the user: others may read the file; empty: none
};

/// Fails with `BadEnvironment` if the path is no regular file, cannot be read, or is too long.
[[nodiscard]] Result<TokenFile> read_token_file(const std::string& path);

/// Returns the version of the OpenSSL library, such as "3.0.17".
std::string openssl_version();

// Lets two programs of one job prove to each other that they know its secret, without sending it.

/// Returns 64 hexadecimal digits (HMAC with SHA-256) that only an owner of the secret can compute for this text.
std::string prove(std::string_view secret, std::string_view text);

/// Verifies a proof in constant time.
bool is_proof(std::string_view proof, std::string_view secret, std::string_view text);

/// The SHA-256 checksum of the bytes: 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace muster::gang
