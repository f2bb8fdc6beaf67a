#pragma once

// The bytes of one client, made requests. Pure.

#include "services/torch_store/operation.hpp"
#include "services/torch_store/request_layout.hpp"

#include "base/result.hpp"
#include "services/torch_store/limits.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::store {

/// Takes bytes as they come, in any pieces, and gives requests in order. No byte is looked at twice: it knows in which
/// field of which request it is, and how many bytes of that are missing. A length is compared with its limit before
/// its bytes are waited for.
///
/// After an error it is of no use: where the next request would begin is not known.
class RequestReader {
 public:
  /// Both are those of the store, and outlive it.
  RequestReader(const Limits& limits, Ungreeted& ungreeted)
      : limits_(&limits), ungreeted_(&ungreeted) {}

  /// Takes what it needs from the front of `bytes`. Empty: all are taken, and the request is not whole. Fails with
  /// `BadData` for what no client sends, or what is over a limit: what "it sent".
  [[nodiscard]] Result<std::optional<Request>> next(std::string_view& bytes);

  /// True: the request is whole if nothing follows for a moment, unless it is settled meanwhile what it means: 8 and a
  /// key is 1.13's DELETE_KEY, whose sender waits now, and the beginning of 2.1's APPEND.
  [[nodiscard]] bool awaits_silence() const {
    return part_ == Part::Undecided && ungreeted_dialect() != Dialect::Torch21;
  }
  /// Nothing has followed. Empty: it is not whole all the same.
  [[nodiscard]] std::optional<Request> on_silence();

  /// The client is a rank: what it settles from here on is settled for the others that do not greet. What anybody else
  /// says, which may be a stray byte, counts for its own connection only.
  void speak_for_all() { speaks_for_all_ = true; }

  /// What the request that is not whole takes in memory.
  [[nodiscard]] std::size_t held() const { return held_; }

 private:
  enum class Part {
    Start,
    Code,
    Count,
    Length,
    Text,
    Number,
    Undecided
  };

  [[nodiscard]] bool gather(std::string_view& bytes);
  void gather_text(std::string_view bytes);
  // True: the request is whole.
  [[nodiscard]] Result<bool> on_part();
  [[nodiscard]] Result<bool> on_start();
  [[nodiscard]] Result<bool> on_code();
  [[nodiscard]] Result<bool> on_count();
  [[nodiscard]] Result<bool> on_length();
  [[nodiscard]] Result<bool> on_text();
  [[nodiscard]] Result<bool> on_bytes_after_key();
  [[nodiscard]] Result<bool> next_field();
  [[nodiscard]] Result<bool> expect(Part part, std::uint64_t bytes);
  void expect_code();
  /// Empty: not settled yet.
  [[nodiscard]] std::optional<Dialect> ungreeted_dialect() const {
    return own_ ? own_ : ungreeted_->dialect();
  }
  [[nodiscard]] std::optional<Operation> operation_of_code(std::uint8_t code);
  [[nodiscard]] Request finish();
  template <typename Number>
  [[nodiscard]] Number take();

  const Limits* limits_;
  Ungreeted* ungreeted_;
  bool has_greeted_ = false;
  bool speaks_for_all_ = false;
  std::optional<Dialect> own_;  ///< settled by what this client has said, without a greeting
  bool is_first_ = true;

  Part part_ = Part::Start;
  std::size_t wanted_ = 1;  ///< bytes of this part in all
  std::string pending_;     ///< those that are here, but for a text's

  Operation operation_ = Operation::Validate;
  std::optional<Dialect>
      means_;  ///< the dialect in which it is this operation, where that was not settled
  Layout layout_;
  std::uint64_t rounds_ = 0;  ///< of the fields, with the one that is read
  std::size_t field_ = 0;     ///< the next one
  Contents contents_;
  std::size_t size_ = 1;  ///< of the request, as far as it is known
  std::size_t held_ = 0;
};

}  // namespace muster::store
