#pragma once

// How two programs of one job show each other that they know its secret, which neither of them sends.

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::gang {

/// Random bytes as hexadecimal digits: a secret of one job, or what is asked once.
[[nodiscard]] std::string random_digits(std::size_t count = 16);

/// 64 hexadecimal digits (HMAC with SHA-256) that only who has the secret can give for this text.
[[nodiscard]] std::string prove(std::string_view secret, std::string_view text);

/// True of those digits, compared in a time that says nothing about them.
[[nodiscard]] bool is_proof(std::string_view proof, std::string_view secret, std::string_view text);

}  // namespace muster::gang
