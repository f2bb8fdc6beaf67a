// Looks from time to time whether bytes arrive, as long as there are some on their way.
#include "output/last_call.hpp"

#include <algorithm>

namespace muster {
namespace {

constexpr DrainDeadline::Duration kInterval{50};
/// For what is said at the very end.
constexpr DrainDeadline::Duration kLastMoment{300};

}  // namespace

void DrainDeadline::start(Duration patience) {
  left_ = patience;
  poll_later();
}

void DrainDeadline::go_on() {
  left_ = std::max(left_, kLastMoment);
  poll_later();
}

std::vector<OutputQueue*> DrainDeadline::awaited() {
  std::vector<OutputQueue*> sinks = consoles_.all();
  if (logs_ != nullptr && logs_->sink() != nullptr) {
    sinks.push_back(logs_->sink());
  }
  std::erase_if(sinks, [](const OutputQueue* sink) { return !sink->awaits_file(); });
  return sinks;
}

std::uint64_t DrainDeadline::arrived() {
  std::uint64_t sum = 0;
  for (const OutputQueue* const sink : awaited()) {
    sum += sink->arrived();
  }
  return sum;
}

void DrainDeadline::poll_later() {
  if (is_waiting_ || awaited().empty()) {
    return;
  }
  is_waiting_ = true;
  arrived_ = arrived();
  timer_.expires_after(kInterval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    is_waiting_ = false;
    if (!error) {
      look();
    }
  });
}

void DrainDeadline::look() {
  if (arrived() == arrived_) {  // of the same ones: nothing has arrived
    left_ -= kInterval;
  }
  if (left_.count() > 0) {
    poll_later();
  } else {
    give_up();
  }
}

void DrainDeadline::give_up() {
  for (OutputQueue* const sink : awaited()) {
    if (logs_ != nullptr && sink == logs_->sink()) {
      logs_->give_up();
    } else {
      consoles_.give_up(*sink);
    }
  }
}

}  // namespace muster
