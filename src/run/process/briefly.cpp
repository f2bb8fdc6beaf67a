// The end of the child closes a pipe: the guard waits for no signal any more.
#include "briefly.hpp"

#include "asides.hpp"

#include <muster/base/unique_fd.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

namespace muster {

void do_briefly(const std::function<void()>& work,
                std::vector<int> kept,
                std::chrono::milliseconds most_time) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    work();  // it has to be done here
    return;
  }
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  kept.push_back(write_end.get());
  const auto child = make_aside(kept, work);
  if (!child) {
    work();
    return;
  }
  write_end.reset();
  pollfd end{read_end.get(), 0, 0};
  (void)::poll(&end, 1, static_cast<int>(most_time.count()));
  (void)::waitpid(*child, nullptr, WNOHANG | __WALL);
}

}  // namespace muster
