// Proves the knowledge of a job's secret: HMAC with SHA-256, as hexadecimal digits; and checksums alike.
#include "gang/net/channel.hpp"
#include "gang/net/token.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <stdexcept>
#include <vector>

namespace muster::gang {
namespace {

std::string hexadecimal(const unsigned char* bytes, std::size_t count) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4U];
    text += kDigits[bytes[i] & 0xfU];
  }
  return text;
}

}  // namespace

std::string prove(std::string_view secret, std::string_view text) {
  start_openssl();
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
  const auto* const input = reinterpret_cast<const unsigned char*>(text.data());  // NOLINT: the API's bytes
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), input, text.size(), bytes.data(), &size) ==
      nullptr) {
    throw std::runtime_error("HMAC: " + openssl_error());
  }
  return hexadecimal(bytes.data(), size);
}

bool is_proof(std::string_view proof, std::string_view secret, std::string_view text) {
  const std::string wanted = prove(secret, text);
  return proof.size() == wanted.size() && CRYPTO_memcmp(proof.data(), wanted.data(), wanted.size()) == 0;
}

std::string sha256(std::string_view bytes) {
  start_openssl();
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("SHA-256: " + openssl_error());
  }
  return hexadecimal(digest.data(), size);
}

}  // namespace muster::gang
