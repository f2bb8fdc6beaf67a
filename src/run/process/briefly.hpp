#pragma once

// What may hang, and is not worth more than a moment. Private to run/.

#include <chrono>
#include <functional>
#include <optional>

namespace muster {

/// Does `work` in a copy of this process, and waits for it for at most so long: a file system may hang whom it likes, and
/// then it hangs the copy. The copy has no descriptor but `kept`: whoever reads from us would wait for the others as long as it
/// hangs. Meant for the guard's end: nothing that `work` changes in memory is seen afterwards.
void do_briefly(const std::function<void()>& work,
                std::optional<int> kept,
                std::chrono::milliseconds most_time);

}  // namespace muster
