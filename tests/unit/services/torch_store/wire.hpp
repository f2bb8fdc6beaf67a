#pragma once

// Requests of torch's clients and the store's answers, byte for byte.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace muster::store::wire {

template <typename Number>
std::string number(Number value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

inline std::string u8(std::uint8_t value) {
  return number(value);
}
inline std::string u32(std::uint32_t value) {
  return number(value);
}
inline std::string u64(std::uint64_t value) {
  return number(value);
}
inline std::string i64(std::int64_t value) {
  return number(value);
}

inline std::string text(std::string_view bytes) {
  return u64(bytes.size()) + std::string(bytes);
}

inline std::string texts(const std::vector<std::string>& all) {
  std::string bytes = u64(all.size());
  for (const std::string& one : all) {
    bytes += text(one);
  }
  return bytes;
}

/// First request of a client of torch 2.2 or later; one of 2.5 or later sends a ping after it.
inline const std::string kGreeting{"\x00\xce\xf7\x85\x3c", 5};

inline std::string ping(std::uint32_t pid) {
  return u8(13) + u32(pid);
}

// Requests of 2.2 and later.
inline std::string set(std::string_view key, std::string_view value) {
  return u8(1) + text(key) + text(value);
}
inline std::string compare_set(std::string_view key, std::string_view expected, std::string_view desired) {
  return u8(2) + text(key) + text(expected) + text(desired);
}
inline std::string get(std::string_view key) {
  return u8(3) + text(key);
}
inline std::string add(std::string_view key, std::int64_t amount) {
  return u8(4) + text(key) + i64(amount);
}
inline std::string check(const std::vector<std::string>& keys) {
  return u8(5) + texts(keys);
}
inline std::string wait(const std::vector<std::string>& keys) {
  return u8(6) + texts(keys);
}
inline std::string count_keys() {
  return u8(7);
}
inline std::string delete_key(std::string_view key) {
  return u8(8) + text(key);
}
inline std::string append(std::string_view key, std::string_view value) {
  return u8(9) + text(key) + text(value);
}
inline std::string multi_get(const std::vector<std::string>& keys) {
  return u8(10) + texts(keys);
}
inline std::string multi_set(const std::vector<std::string>& keys_and_values) {
  return u8(11) + u64(keys_and_values.size() / 2) + texts(keys_and_values).substr(8);
}
inline std::string cancel_wait() {
  return u8(12);
}
inline std::string push(std::string_view key, std::string_view value) {
  return u8(14) + text(key) + text(value);
}
inline std::string pop(std::string_view key) {
  return u8(15) + text(key);
}
inline std::string queue_length(std::string_view key) {
  return u8(16) + text(key);
}
inline std::string list_keys() {
  return u8(17);
}
inline std::string barrier(std::string_view key, std::int64_t world_size) {
  return u8(18) + text(key) + i64(world_size);
}

// Answers.
inline const std::string kReady = u8(0);
inline const std::string kNotReady = u8(1);
inline const std::string kCancelled = u8(1);

}  // namespace muster::store::wire
