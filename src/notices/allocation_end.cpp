// One timer for the whole job. A machine that sleeps meanwhile is late by that.
#include "notices/allocation_end.hpp"

#include <algorithm>

namespace muster {

void AllocationEnd::start() {
  const auto left =
      *options_.allocation_end - std::chrono::system_clock::now() - *options_.before_end;
  timer_.expires_after(std::max(std::chrono::duration_cast<std::chrono::nanoseconds>(left),
                                std::chrono::nanoseconds(0)));
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) {
      callbacks_.notice("the end of the allocation", options_.time_left());
    }
  });
}

}  // namespace muster
