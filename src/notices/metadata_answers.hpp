#pragma once

// The answers of a cloud's metadata server. Pure; whoever answers may be anybody. Private to run/.

#include "agent/run.hpp"
#include "base/result.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// An answer is no longer than this, with its header.
inline constexpr std::size_t kMostMetadataBytes = 65'536;

/// As its users call it: "aws".
[[nodiscard]] const char* name_of(Cloud cloud);

struct HttpAnswer {
  int status = 0;
  std::string body;
};

/// `bytes` came from the connection; `is_all`: no more will come. Empty: more must come. An error: this is no answer of HTTP,
/// or it is too long.
[[nodiscard]] Result<std::optional<HttpAnswer>> read_http_answer(std::string_view bytes, bool is_all);

/// A word that may go into the header of a request, or be compared; empty: the answer holds none.
[[nodiscard]] std::optional<std::string> read_metadata_word(const HttpAnswer& answer);

/// What the machine has from `now` on until it is taken away; empty: nobody takes it. An error: the answer says neither.
/// `own_name`: how Azure calls this machine, since its answer tells of others too; empty: every event counts.
[[nodiscard]] Result<std::optional<std::chrono::milliseconds>> read_cloud_notice(
    Cloud cloud, const HttpAnswer& answer, std::string_view own_name, std::chrono::system_clock::time_point now);

}  // namespace muster
