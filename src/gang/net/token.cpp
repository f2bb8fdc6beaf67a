// Reads a token and derives the key from it, by HKDF (RFC 5869) with SHA-256.
#include "gang/net/token.hpp"

#include "base/file_io.hpp"
#include "gang/net/channel.hpp"

#include <fcntl.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>

namespace muster::gang {
namespace {

// Give another protocol with the same token another key. A change breaks with older agents, as one of kProtocol does.
constexpr std::string_view kSalt = "muster gang";
constexpr std::string_view kInfo = "link key 1";

std::string_view without_line_end(std::string_view token) {
  for (const std::string_view end : {"\r\n", "\n"}) {
    if (token.ends_with(end)) {
      return token.substr(0, token.size() - end.size());
    }
  }
  return token;
}

OSSL_PARAM octets(const char* name, std::string_view bytes) {
  // OpenSSL only reads here: one type serves both directions.
  return ::OSSL_PARAM_construct_octet_string(name,
                                             const_cast<char*>(bytes.data()),  // NOLINT
                                             bytes.size());
}

void hkdf(std::string_view secret, std::span<unsigned char> key) {
  const std::unique_ptr<EVP_KDF, decltype(&::EVP_KDF_free)> algorithm(::EVP_KDF_fetch(nullptr, "HKDF", nullptr),
                                                                      ::EVP_KDF_free);
  const std::unique_ptr<EVP_KDF_CTX, decltype(&::EVP_KDF_CTX_free)> derivation(::EVP_KDF_CTX_new(algorithm.get()),
                                                                               ::EVP_KDF_CTX_free);
  std::string digest = "SHA256";
  const std::array<OSSL_PARAM, 5> parameters{
      ::OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0), octets(OSSL_KDF_PARAM_KEY, secret),
      octets(OSSL_KDF_PARAM_SALT, kSalt), octets(OSSL_KDF_PARAM_INFO, kInfo), ::OSSL_PARAM_construct_end()};
  if (!derivation || ::EVP_KDF_derive(derivation.get(), key.data(), key.size(), parameters.data()) != 1) {
    throw std::logic_error("HKDF: " + openssl_error());
  }
}

/// Returns what is wrong with the file; empty: nothing.
std::string objection(const struct stat& file) {
  if (!S_ISREG(file.st_mode)) {
    return "it is no regular file";
  }
  if (file.st_size > static_cast<off_t>(kMostTokenBytes)) {
    return "it has " + std::to_string(file.st_size) + " bytes, expected at most " + std::to_string(kMostTokenBytes);
  }
  return {};
}

}  // namespace

void start_openssl() {
  ::OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr);
}

std::string openssl_error() {
  std::array<char, 256> text{};
  ::ERR_error_string_n(::ERR_get_error(), text.data(), text.size());
  return text.data();
}

std::string openssl_version() {
  return ::OpenSSL_version(OPENSSL_VERSION_STRING);
}

Result<GangKey> GangKey::derive(std::string_view token) {
  const std::string_view secret = without_line_end(token);
  if (secret.size() < kLeastTokenBytes) {
    return Error{ErrorKind::BadEnvironment, "the token has " + std::to_string(secret.size()) +
                                                " bytes, expected at least " + std::to_string(kLeastTokenBytes)};
  }
  start_openssl();
  GangKey key;
  hkdf(secret, key.bytes_);
  return key;
}

GangKey::GangKey(GangKey&& other) noexcept : bytes_(other.bytes_) {
  ::OPENSSL_cleanse(other.bytes_.data(), kBytes);
}

GangKey& GangKey::operator=(GangKey&& other) noexcept {
  std::swap(bytes_, other.bytes_);  // `other` erases the old key
  return *this;
}

GangKey::~GangKey() {
  ::OPENSSL_cleanse(bytes_.data(), kBytes);
}

bool is_weak(std::string_view token) {
  constexpr std::size_t kLeastDifferent = 8;
  return std::set<char>(token.begin(), token.end()).size() < kLeastDifferent;
}

Result<TokenFile> read_token_file(const std::string& path) {
  const auto bad = [&](const std::string& why) {
    return Error{ErrorKind::BadEnvironment, "cannot read the token file '" + path + "': " + why};
  };
  // Without O_NONBLOCK, open(2) of a named pipe would wait for a writer.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    return bad(std::generic_category().message(errno));
  }
  if (const std::string why = objection(status); !why.empty()) {
    return bad(why);
  }
  auto [token, error_number] = read_up_to(fd.get(), kMostTokenBytes);
  if (error_number != 0) {
    return bad(std::generic_category().message(error_number));
  }
  TokenFile file{std::move(token), {}};
  if ((status.st_mode & (S_IRGRP | S_IROTH)) != 0) {
    file.warning = "the token file '" + path + "' may be read by others than its owner";
  }
  return file;
}

}  // namespace muster::gang
