#pragma once

// What became of a link, in words that read behind the other end's name.

#include <boost/system/error_code.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace muster::gang {

/// "closed the connection".
[[nodiscard]] std::string describe_end(const boost::system::error_code& error);

/// It is the token that keeps the two ends apart: "has another token".
[[nodiscard]] bool concerns_token(std::string_view why);

/// "sent no join within 2.5 s".
[[nodiscard]] std::string describe_missing_join(std::chrono::milliseconds limit);

}  // namespace muster::gang
