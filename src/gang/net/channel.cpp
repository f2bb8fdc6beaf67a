// Implements the plain channel and the TLS channel on OpenSSL.
#include "gang/net/channel.hpp"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

namespace muster::gang {
namespace {

class PlainChannel : public Channel {
 public:
  explicit PlainChannel(Side side) : side_(side) {}

  Result<std::string> receive(std::string_view wire) override {
    if (!wire.empty() && !std::exchange(has_received_, true) &&
        (wire.front() == kFirstOfHandshake || wire.front() == kFirstOfAlert)) {
      return refuse();
    }
    return std::string(wire);
  }

  void send(std::string_view plaintext) override { outgoing_ += plaintext; }
  std::string take_outgoing() override { return std::exchange(outgoing_, {}); }
  bool is_established() const override { return true; }

 private:
  Error refuse() {
    outgoing_.clear();
    if (side_ == Side::Agent) {
      return {ErrorKind::BadData, "has a token, and this agent has none"};
    }
    outgoing_ = kFirstOfPlain;
    return {ErrorKind::BadData, "has a token, and this job has none"};
  }

  Side side_;
  bool has_received_ = false;
  std::string outgoing_;
};

}  // namespace

// TLS 1.3 with the job's key as an external pre-shared key. No certificates, no tickets, no early data.
//
// OpenSSL reads from and writes to the channel's own strings, and releases its buffers between records: a leader has
// thousands of these channels.

namespace {

/// The identity of the pre-shared key, which says nothing about the job. Both ends send and expect it.
constexpr std::string_view kIdentity = "muster";
constexpr const char* kCipher = "TLS_AES_128_GCM_SHA256";
constexpr std::size_t kRecordBytes = 16'384;

template <typename T, void (*kFree)(T*)>
struct Free {
  void operator()(T* object) const { kFree(object); }
};
using ContextPtr = std::unique_ptr<SSL_CTX, Free<SSL_CTX, ::SSL_CTX_free>>;
using SessionPtr = std::unique_ptr<SSL_SESSION, Free<SSL_SESSION, ::SSL_SESSION_free>>;
using SslPtr = std::unique_ptr<SSL, Free<SSL, ::SSL_free>>;

void require(bool is_done, const char* what) {
  if (!is_done) {
    throw std::logic_error(std::string(what) + ": " + openssl_error());
  }
}

// --- State that all links of one key and side share ---------------------------------------------

SSL_SESSION* session_of(SSL* ssl) {
  return static_cast<SSL_SESSION*>(SSL_CTX_get_app_data(::SSL_get_SSL_CTX(ssl)));
}

/// Callback of an agent: returns the key to offer.
int offer_key(SSL* ssl, const EVP_MD* digest, const unsigned char** identity, std::size_t* identity_size,
              SSL_SESSION** session) {
  *session = nullptr;
  // Called again after a HelloRetryRequest, then with the digest that the leader chose.
  if (digest != nullptr && ::EVP_MD_is_a(digest, "SHA256") != 1) {
    return 1;
  }
  *identity = reinterpret_cast<const unsigned char*>(kIdentity.data());  // NOLINT: OpenSSL's bytes
  *identity_size = kIdentity.size();
  *session = session_of(ssl);
  return ::SSL_SESSION_up_ref(*session);
}

/// Callback of the leader: returns the key for an offered identity. An agent with another token has the same
/// identity; its binder does not verify.
int find_key(SSL* ssl, const unsigned char* identity, std::size_t identity_size, SSL_SESSION** session) {
  *session = nullptr;
  if (identity_size == kIdentity.size() && std::memcmp(identity, kIdentity.data(), identity_size) == 0) {
    *session = session_of(ssl);
    return ::SSL_SESSION_up_ref(*session);
  }
  return 1;
}

SessionPtr make_session(SSL_CTX* context, const GangKey& key) {
  const STACK_OF(SSL_CIPHER)* const ciphers = ::SSL_CTX_get_ciphers(context);
  const SSL_CIPHER* chosen = nullptr;
  for (int i = 0; i < sk_SSL_CIPHER_num(ciphers); ++i) {
    const SSL_CIPHER* const cipher = sk_SSL_CIPHER_value(ciphers, i);
    chosen = std::string_view(::SSL_CIPHER_get_name(cipher)) == kCipher ? cipher : chosen;
  }
  SessionPtr session(::SSL_SESSION_new());
  require(chosen != nullptr && session != nullptr &&
              ::SSL_SESSION_set1_master_key(session.get(), key.bytes().data(), key.bytes().size()) == 1 &&
              ::SSL_SESSION_set_cipher(session.get(), chosen) == 1 &&
              ::SSL_SESSION_set_protocol_version(session.get(), TLS1_3_VERSION) == 1,
          "TLS session");
  return session;
}

ContextPtr make_context(Side side) {
  start_openssl();
  ContextPtr context(::SSL_CTX_new(side == Side::Leader ? ::TLS_server_method() : ::TLS_client_method()));
  require(context != nullptr, "TLS");
  SSL_CTX* const raw = context.get();
  require(::SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION) == 1 &&
              ::SSL_CTX_set_max_proto_version(raw, TLS1_3_VERSION) == 1 &&
              ::SSL_CTX_set_ciphersuites(raw, kCipher) == 1 && ::SSL_CTX_set1_groups_list(raw, "X25519") == 1 &&
              ::SSL_CTX_set_num_tickets(raw, 0) == 1,
          "TLS settings");
  // psk_dhe_ke alone is what OpenSSL does without SSL_OP_ALLOW_NO_DHE_KEX.
  ::SSL_CTX_clear_options(raw, SSL_OP_ALLOW_NO_DHE_KEX | SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
  ::SSL_CTX_set_options(raw, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
  ::SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
  ::SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_max_early_data(raw, 0);
  if (side == Side::Agent) {
    // A certificate is no substitute for the key: there is no authority to trust.
    ::SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  }
  ::SSL_CTX_set_psk_use_session_callback(raw, offer_key);
  ::SSL_CTX_set_psk_find_session_callback(raw, find_key);
  return context;
}

bool has_key(const SSL_SESSION* session, const GangKey& key) {
  std::array<unsigned char, GangKey::kBytes> own{};
  const bool is_same = ::SSL_SESSION_get_master_key(session, own.data(), own.size()) == own.size() &&
                       ::CRYPTO_memcmp(own.data(), key.bytes().data(), own.size()) == 0;
  ::OPENSSL_cleanse(own.data(), own.size());
  return is_same;
}

/// The context of a key and a side, created for the first link. A process needs only one, tests need a few.
SSL_CTX* shared_context(const GangKey& key, Side side) {
  struct Known {
    Side side;
    SessionPtr session;  ///< holds the key
    ContextPtr context;
  };
  static std::vector<Known> all;
  for (const Known& known : all) {
    if (known.side == side && has_key(known.session.get(), key)) {
      return known.context.get();
    }
  }
  ContextPtr context = make_context(side);
  SessionPtr session = make_session(context.get(), key);
  SSL_CTX_set_app_data(context.get(), session.get());
  return all.emplace_back(Known{side, std::move(session), std::move(context)}).context.get();
}

// --- A BIO on the channel's strings -------------------------------------------------------------

struct Wire {
  std::string_view in;  ///< valid during `receive`
  std::string out;
};

int wire_write(BIO* bio, const char* bytes, std::size_t size, std::size_t* written) {
  static_cast<Wire*>(::BIO_get_data(bio))->out.append(bytes, size);
  *written = size;
  return 1;
}

int wire_read(BIO* bio, char* bytes, std::size_t size, std::size_t* read) {
  std::string_view& in = static_cast<Wire*>(::BIO_get_data(bio))->in;
  BIO_clear_retry_flags(bio);
  if (in.empty()) {
    BIO_set_retry_read(bio);
    return 0;
  }
  *read = in.copy(bytes, size);
  in.remove_prefix(*read);
  return 1;
}

long wire_control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO* make_bio(Wire& wire) {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* const made = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "wire");
    ::BIO_meth_set_write_ex(made, wire_write);
    ::BIO_meth_set_read_ex(made, wire_read);
    ::BIO_meth_set_ctrl(made, wire_control);
    return made;
  }();
  BIO* const bio = ::BIO_new(method);
  require(bio != nullptr, "BIO");
  ::BIO_set_data(bio, &wire);
  ::BIO_set_init(bio, 1);
  return bio;
}

// --- The channel --------------------------------------------------------------------------------

class TlsChannel : public Channel {
 public:
  TlsChannel(const GangKey& key, Side side) : side_(side), ssl_(::SSL_new(shared_context(key, side))) {
    require(ssl_ != nullptr, "TLS");
    BIO* const bio = make_bio(wire_);
    ::SSL_set_bio(ssl_.get(), bio, bio);
    if (side == Side::Agent) {
      ::SSL_set_connect_state(ssl_.get());
      (void)::SSL_do_handshake(ssl_.get());  // the first flight; the other end always needs an answer
      ::ERR_clear_error();
    } else {
      ::SSL_set_accept_state(ssl_.get());
    }
  }

  Result<std::string> receive(std::string_view wire) override {
    if (!wire.empty() && !std::exchange(has_received_, true) && wire.front() != kFirstOfHandshake &&
        wire.front() != kFirstOfAlert) {
      return refuse(wire.front());
    }
    ::ERR_clear_error();
    wire_.in = wire;
    Result<std::string> plaintext = read_all();
    wire_.in = {};
    return plaintext;
  }

  void send(std::string_view plaintext) override {
    if (!is_established_) {
      early_ += plaintext;
      return;
    }
    std::size_t written = 0;
    require(plaintext.empty() || ::SSL_write_ex(ssl_.get(), plaintext.data(), plaintext.size(), &written) == 1,
            "TLS write");
  }

  std::string take_outgoing() override { return std::exchange(wire_.out, {}); }
  bool is_established() const override { return is_established_; }

 private:
  Error refuse(char first) {
    if (side_ == Side::Leader) {
      // Built as OpenSSL would for a missing key: alert, TLS 1.2 on the outside, two bytes, fatal.
      constexpr char kHandshakeFailure = 40;
      wire_.out = {kFirstOfAlert, 3, 3, 0, 2, 2, kHandshakeFailure};
    }
    if (first != kFirstOfPlain) {
      return {ErrorKind::BadData, "speaks neither TLS nor muster's language"};
    }
    return {ErrorKind::BadData, side_ == Side::Leader ? "speaks without a token, and this job has one"
                                                      : "speaks without a token, and this agent has one"};
  }

  Result<std::string> read_all() {
    if (!is_established_) {
      if (const int done = ::SSL_do_handshake(ssl_.get()); done != 1) {
        return progress_or_error(done);
      }
      if (::SSL_session_reused(ssl_.get()) != 1) {  // never with these settings: no key, no link
        return Error{ErrorKind::BadData, "did not prove that it has the token"};
      }
      is_established_ = true;
      send(std::exchange(early_, {}));
    }
    static std::array<char, kRecordBytes> buffer;  // shared by all channels: the bytes are copied at once
    std::string plaintext;
    while (true) {
      std::size_t count = 0;
      const int done = ::SSL_read_ex(ssl_.get(), buffer.data(), buffer.size(), &count);
      if (done != 1) {
        const auto end = progress_or_error(done);
        return end ? Result<std::string>(std::move(plaintext)) : end;
      }
      plaintext.append(buffer.data(), count);
    }
  }

  Result<std::string> progress_or_error(int done) {
    switch (::SSL_get_error(ssl_.get(), done)) {
      case SSL_ERROR_WANT_READ:
        return std::string();
      case SSL_ERROR_ZERO_RETURN:
        return Error{ErrorKind::BadData, "closed the connection"};
      default:
        return Error{ErrorKind::BadData, describe_error()};
    }
  }

  /// Describes a TLS error. A wrong key fails the verification of the binder on the leader, which sends the agent an
  /// alert.
  std::string describe_error() {
    const int reason = ERR_GET_REASON(::ERR_peek_error());
    std::string text = openssl_error();
    ::ERR_clear_error();
    if (!is_established_ && (reason == SSL_R_BINDER_DOES_NOT_VERIFY || reason == SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER ||
                             reason == SSL_R_TLSV1_ALERT_DECRYPT_ERROR)) {
      return "has another token";
    }
    return "breaks the rules of TLS (" + text.substr(text.rfind(':') + 1) + ")";
  }

  Side side_;
  bool has_received_ = false;
  bool is_established_ = false;
  Wire wire_;
  std::string early_;  ///< to be sent once the link is established
  SslPtr ssl_;         ///< after `wire_`, which it uses
};

}  // namespace

std::unique_ptr<Channel> make_channel(const GangKey* key, Side side) {
  if (key != nullptr) {
    return std::make_unique<TlsChannel>(*key, side);
  }
  return std::make_unique<PlainChannel>(side);
}

}  // namespace muster::gang
