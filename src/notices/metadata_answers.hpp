#pragma once

// Reads answers of a cloud's metadata server. Pure; trusts no answer. Private to src/notices.

#include "agent/run.hpp"
#include "base/result.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// Size limit of an answer with its header.
inline constexpr std::size_t kMostMetadataBytes = 65'536;

/// The name that users give it, "aws".
[[nodiscard]] const char* name_of(Cloud cloud);

struct HttpAnswer {
  int status = 0;
  std::string body;
};

/// Reads `bytes` from the connection; `is_all`: no more will come. Empty: incomplete. Fails if they are not HTTP or
/// too long.
[[nodiscard]] Result<std::optional<HttpAnswer>> read_http_answer(std::string_view bytes, bool is_all);

/// A word that may go into a request header or be compared; empty: the answer has none.
[[nodiscard]] std::optional<std::string> read_metadata_word(const HttpAnswer& answer);

/// Time from `now` until the machine is taken away; empty: it is not. Fails if the answer says neither. `own_name`:
/// Azure's name of this machine, since its answer lists events of others as well; empty: every event counts.
[[nodiscard]] Result<std::optional<std::chrono::milliseconds>> read_cloud_notice(
    Cloud cloud, const HttpAnswer& answer, std::string_view own_name, std::chrono::system_clock::time_point now);

}  // namespace muster
