// Implements the parser of requests, and the tables of torch's operations and their fields.
#include "services/torch_store/request_reader.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace muster::store {

// The tables of operations: the index is the operation's number on the wire.

namespace {

using enum Operation;

constexpr std::array kTorch20 = {Set, CompareSet, Get, Add, Check, Wait, CountKeys, WatchKey, DeleteKey};
constexpr std::array kTorch21 = {Set,       CompareSet, Get,    Add,      Check,    Wait,
                                 CountKeys, DeleteKey,  Append, MultiGet, MultiSet, CancelWait};
// 13 since 2.5, 14 to 16 since 2.8, 17 since 2.10, 18 since 2.12.
constexpr std::array kTorch22 = {Validate,  Set,       CompareSet,  Get,      Add,      Check,      Wait,
                                 CountKeys, DeleteKey, Append,      MultiGet, MultiSet, CancelWait, Ping,
                                 QueuePush, QueuePop,  QueueLength, ListKeys, Barrier};

/// By `Dialect`.
constexpr auto kTables = std::to_array<std::span<const Operation>>({kTorch20, kTorch21, kTorch22});

}  // namespace

std::optional<Operation> operation_of(Dialect dialect, std::uint8_t code) {
  const auto table = kTables.at(static_cast<std::size_t>(dialect));
  return code < table.size() ? std::optional(table[code]) : std::nullopt;
}

// The fields of each operation.

namespace {

constexpr std::array kKey = {Field::Key};
constexpr std::array kKeyAndValue = {Field::Key, Field::Value};
constexpr std::array kKeyAndTwoValues = {Field::Key, Field::Value, Field::Value};
constexpr std::array kKeyAndAmount = {Field::Key, Field::Amount};
constexpr std::array kNonce = {Field::Nonce};

/// By `Operation`.
constexpr auto kLayouts = std::to_array<Layout>({
    {},                    // Validate: the greeting is not read as a request
    {kKeyAndValue},        // Set
    {kKeyAndTwoValues},    // CompareSet
    {kKey},                // Get
    {kKeyAndAmount},       // Add
    {kKey, true},          // Check
    {kKey, true},          // Wait
    {},                    // CountKeys
    {kKey},                // WatchKey
    {kKey},                // DeleteKey
    {kKeyAndValue},        // Append
    {kKey, true},          // MultiGet
    {kKeyAndValue, true},  // MultiSet
    {},                    // CancelWait
    {kNonce},              // Ping
    {kKeyAndValue},        // QueuePush
    {kKey},                // QueuePop
    {kKey},                // QueueLength
    {},                    // ListKeys
    {kKeyAndAmount},       // Barrier
});

constexpr std::uint32_t kGreeting = 0x3C85F7CE;
/// The number of the greeting, and the word after it.
constexpr std::size_t kGreetingSize = 1 + sizeof kGreeting;
/// The lower numbers mean the same operations in torch 1.13 to 2.1.
constexpr std::uint8_t kFirstThatDiffers = 7;

Error bad_request(const std::string& what) {
  return Error{ErrorKind::BadData, "it sent " + what};
}

Error over_limit(const std::string& what, std::size_t most) {
  return bad_request(what + ", expected at most " + std::to_string(most));
}

}  // namespace

Result<std::optional<Request>> RequestReader::next(std::string_view& bytes) {
  while (gather(bytes)) {
    const auto is_whole = TRY(on_part());
    if (is_whole) {
      return std::optional(finish());
    }
  }
  return std::optional<Request>();
}

std::optional<Request> RequestReader::on_silence() {
  if (!awaits_silence()) {
    return std::nullopt;
  }
  request_.operation = Operation::DeleteKey;
  means_ = Dialect::Torch20;
  return finish();
}

/// True: the part is complete.
bool RequestReader::gather(std::string_view& bytes) {
  if (part_ == Part::Undecided) {
    return !bytes.empty();
  }
  const std::size_t have = part_ == Part::Text ? request_.texts.back().size() : pending_.size();
  const std::size_t count = std::min(wanted_ - have, bytes.size());
  if (part_ == Part::Text) {
    // Allocates as bytes come, because a length is only a claim; the text ends with the capacity that it needs.
    const std::string_view part = bytes.substr(0, count);
    std::string& text = request_.texts.back();
    const std::size_t size = text.size() + part.size();
    if (size > text.capacity()) {
      text.reserve(std::min(wanted_, std::max(size, 2 * text.capacity())));
    }
    text.append(part);
    held_ += part.size();
  } else {
    pending_.append(bytes.substr(0, count));
  }
  bytes.remove_prefix(count);
  return have + count == wanted_;
}

Result<bool> RequestReader::on_part() {
  switch (part_) {
    case Part::Start:
      return on_start();
    case Part::Code:
      return on_code();
    case Part::Count:
      rounds_ = take<std::uint64_t>();
      if (rounds_ > limits_->keys) {
        return over_limit("'" + std::to_string(rounds_) + "' keys in one request", limits_->keys);
      }
      return rounds_ == 0 ? Result<bool>(true) : next_field();
    case Part::Length:
      return on_length();
    case Part::Text:
      if (means_ && request_.operation == Operation::Append && field_ == 1) {
        part_ = Part::Undecided;
        return false;
      }
      return next_field();
    case Part::Number:
      request_.number = wanted_ == sizeof(std::uint32_t) ? take<std::uint32_t>() : take<std::int64_t>();
      return next_field();
    case Part::Undecided:
      break;
  }
  if (ungreeted_dialect() == Dialect::Torch20) {
    request_.operation = Operation::DeleteKey;
    return true;
  }
  return next_field();
}

/// Without a greeting, 0 is SET: no key is as long as the greeting, read as a length, would say.
Result<bool> RequestReader::on_start() {
  if (pending_.front() != 0) {
    return on_code();
  }
  if (pending_.size() < kGreetingSize) {
    wanted_ = kGreetingSize;
    return false;
  }
  std::uint32_t word = 0;
  std::memcpy(&word, pending_.data() + 1, sizeof word);
  if (word != kGreeting) {
    return on_code();
  }
  has_greeted_ = true;
  pending_.clear();
  expect_code();
  return false;
}

Result<bool> RequestReader::on_code() {
  const auto code = take<std::uint8_t>();
  const auto operation = operation_of_code(code);
  if (!operation) {
    return bad_request("the operation '" + std::to_string(code) + "', expected one of torch's TCPStore, 1.13 to 2.14");
  }
  if (*operation == Operation::Validate) {
    return bad_request("the greeting a second time, expected it once");
  }
  request_.operation = *operation;
  layout_ = kLayouts.at(static_cast<std::size_t>(*operation));
  request_.texts.reserve(layout_.fields.size());
  field_ = 0;
  rounds_ = 1;
  return layout_.is_list ? expect(Part::Count, sizeof(std::uint64_t)) : next_field();
}

/// If the dialect is not settled, assumes 2.1's meaning of the number. Exception: the first request of a connection
/// may be WATCH_KEY, with which the second connection of a client of 1.13 or 2.0 begins. It is refused and settles
/// nothing: a client of 2.1 may begin with DELETE_KEY, which has the same number.
std::optional<Operation> RequestReader::operation_of_code(std::uint8_t code) {
  const auto settled = has_greeted_ ? Dialect::Torch22 : ungreeted_dialect();
  if (settled || code < kFirstThatDiffers) {
    return operation_of(settled.value_or(Dialect::Torch21), code);
  }
  if (is_first_ && operation_of(Dialect::Torch20, code) == Operation::WatchKey) {
    return Operation::WatchKey;
  }
  means_ = Dialect::Torch21;
  return operation_of(Dialect::Torch21, code);
}

Result<bool> RequestReader::on_length() {
  const auto length = take<std::uint64_t>();
  const bool is_key = layout_.fields[field_ - 1] == Field::Key;
  const std::size_t most = is_key ? limits_->key : limits_->value;
  if (length > most) {
    return over_limit((is_key ? "a key of '" : "a value of '") + std::to_string(length) + "' bytes", most);
  }
  request_.texts.emplace_back();
  held_ += sizeof(std::string);
  return expect(Part::Text, length);
}

Result<bool> RequestReader::next_field() {
  if (field_ == layout_.fields.size()) {
    field_ = 0;
    --rounds_;
  }
  if (rounds_ == 0 || layout_.fields.empty()) {
    return true;
  }
  const Field field = layout_.fields[field_++];
  const bool is_number = field == Field::Nonce || field == Field::Amount;
  return expect(is_number ? Part::Number : Part::Length,
                field == Field::Nonce ? sizeof(std::uint32_t) : sizeof(std::uint64_t));
}

/// Starts a part. Never true: the request goes on.
Result<bool> RequestReader::expect(Part part, std::uint64_t bytes) {
  part_ = part;
  wanted_ = static_cast<std::size_t>(bytes);
  size_ += wanted_;
  if (size_ > limits_->request) {
    return over_limit("a request of '" + std::to_string(size_) + "' bytes or more", limits_->request);
  }
  return false;
}

void RequestReader::expect_code() {
  part_ = Part::Code;
  wanted_ = 1;
  size_ = 1;
}

Request RequestReader::finish() {
  if (means_) {
    own_ = std::exchange(means_, std::nullopt);
    if (settles_for_all_) {
      dialect_without_greeting_->settle(*own_);
    }
  }
  is_first_ = false;
  held_ = 0;
  expect_code();
  return std::exchange(request_, {});
}

/// Takes the number at the front of `pending_`, in the byte order of this machine, which is that of its clients.
template <typename Number>
Number RequestReader::take() {
  Number number = 0;
  std::memcpy(&number, pending_.data(), sizeof number);
  pending_.erase(0, sizeof number);
  return number;
}

}  // namespace muster::store
