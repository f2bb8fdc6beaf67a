#pragma once

// What may hang, and is not worth more than a moment. Private to run/.

#include <chrono>
#include <functional>
#include <vector>

namespace muster {

/// Does `work` in a process beside us (make_aside()), and waits for it for at most so long: a file system may hang
/// whom it likes, and then it hangs that one. Meant for the guard's end: nothing that `work` changes in memory is seen
/// afterwards. Where no process can be made the work is done here.
void do_briefly(const std::function<void()>& work,
                std::vector<int> kept,
                std::chrono::milliseconds most_time);

}  // namespace muster
