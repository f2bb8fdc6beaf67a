#pragma once

// What may hang, and is not worth more than a moment.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Does `work` in a process beside us, and waits for its answer for at most so long: a file system may hang whom it
/// likes, and then it hangs that one, which is killed and not waited for. Of our descriptors it has `kept` alone, and
/// nothing that it changes in memory is seen afterwards. Empty: it took too long. Where no process can be made the work
/// is done here.
[[nodiscard]] std::optional<std::string> ask_with_timeout(const std::function<std::string()>& work,
                                                          std::vector<int> kept,
                                                          std::chrono::milliseconds most_time);

/// The same for what has no answer.
void run_with_timeout(const std::function<void()>& work,
                      std::vector<int> kept,
                      std::chrono::milliseconds most_time);

/// The last line of an end with an error, behind those that were kept (logs/messages.hpp). Standard error may be a file
/// that takes nothing any more.
void print_fatal(const std::string& message);

}  // namespace muster
