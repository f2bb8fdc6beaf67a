#include "base/random.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace muster {
namespace {

constexpr const char* kDigits = "0123456789abcdef";

Result<std::vector<unsigned char>> random_bytes(std::size_t count) {
  std::vector<unsigned char> bytes(count);
  std::size_t drawn = 0;
  while (drawn < count) {
    const ssize_t size = ::getrandom(bytes.data() + drawn, count - drawn, 0);
    if (size < 0 && errno != EINTR) {
      return system_error("cannot draw random numbers: getrandom", errno);
    }
    drawn += size > 0 ? static_cast<std::size_t>(size) : 0;
  }
  return bytes;
}

}  // namespace

Result<std::uint64_t> random_number() {
  std::uint64_t number = 0;
  std::memcpy(&number, TRY(random_bytes(sizeof number)).data(), sizeof number);
  return number;
}

Result<std::string> random_digits(std::size_t count) {
  std::string text;
  for (const unsigned char byte : TRY(random_bytes(count))) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 0xfU];
  }
  return text;
}

Result<std::string> random_word(std::string_view characters, std::size_t count) {
  std::uint64_t number = TRY(random_number());
  std::string word(count, '\0');
  for (char& character : word) {
    character = characters[number % characters.size()];
    number /= characters.size();
  }
  return word;
}

Result<std::string> random_uuid() {
  std::string uuid = TRY(random_digits());
  uuid[12] = '4';                                                // the version
  uuid[16] = "89ab"[static_cast<unsigned char>(uuid[16]) % 4U];  // the variant
  for (const std::size_t place : {8, 13, 18, 23}) {
    uuid.insert(place, 1, '-');
  }
  return uuid;
}

}  // namespace muster
