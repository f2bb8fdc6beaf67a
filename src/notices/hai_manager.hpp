#pragma once

// What is said to the manager of a task of HAI. Private to run/.

#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// A request as the manager reads it: 8 characters with the length of all of it, and a pickled {'source': source}.
[[nodiscard]] std::string write_hai_request(std::string_view source);

/// Sends it and waits for the length of an answer, for some seconds at most. What the answer says is not read: it is a pickle, which could
/// have us execute anything. Returns what went wrong; empty: nothing.
[[nodiscard]] std::string notify_hai_manager(const std::string& host, std::string_view source);

/// "done", or why not; empty: the time was over.
[[nodiscard]] std::string describe_telling(const std::optional<std::string>& problem);

}  // namespace muster
