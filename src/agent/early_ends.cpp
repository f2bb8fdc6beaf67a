// Who has ended too early shows after a moment only.
#include "agent/early_ends.hpp"

#include <utility>

namespace muster {
namespace {

/// A scheduler ends when its workers have no more to ask, which is before they end.
constexpr std::chrono::seconds kMoment{5};

}  // namespace

EarlyServerExit::EarlyServerExit(boost::asio::io_context& io,
                                 const LaunchPlan& plan,
                                 const Workers& workers,
                                 std::function<void()> look)
    : plan_(plan), workers_(workers), timer_(io, kMoment, std::move(look)) {}

void EarlyServerExit::note(const Death& death) {
  if (death.status.ok() && !plan_.workers[death.worker].decides_success) {
    ended_.push_back(death.worker);
    timer_.ask();
  }
}

std::vector<std::size_t> EarlyServerExit::take() {
  std::vector<std::size_t> ended = std::exchange(ended_, {});
  bool has_deciding = false;
  bool is_one_alive = false;
  for (std::size_t i = 0; i < plan_.workers.size(); ++i) {
    const bool decides = plan_.workers[i].decides_success;
    has_deciding = has_deciding || decides;
    is_one_alive = is_one_alive || (decides && workers_.is_alive(i));
  }
  // Where nobody on this node decides, those whom it serves are on others.
  const bool serves_others = !has_deciding && plan_.nodes > 1;
  return is_one_alive || serves_others ? ended : std::vector<std::size_t>{};
}

}  // namespace muster
