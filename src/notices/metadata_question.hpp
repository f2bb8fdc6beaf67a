#pragma once

// A question to a cloud's metadata server, and its way back from the helper process that asks. Private to run/.

#include "notices/metadata_answers.hpp"

#include <chrono>
#include <string>

namespace muster {

/// A question takes no longer, with all its parts.
inline constexpr std::chrono::milliseconds kMetadataLimit{2'000};

/// The last answer, and what it must be read with.
struct MetadataReply {
  HttpAnswer answer;
  std::string own_name;  ///< see `read_cloud_notice`
};

/// Asks at 169.254.169.254, through no proxy; blocks.
[[nodiscard]] Result<MetadataReply> ask_metadata_server(Cloud cloud);

[[nodiscard]] std::string encode_reply(const Result<MetadataReply>& reply);
[[nodiscard]] Result<MetadataReply> decode_reply(std::string_view bytes);

}  // namespace muster
