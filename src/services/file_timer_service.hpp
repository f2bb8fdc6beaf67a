#pragma once

// The watchdog of torch.distributed.elastic: a worker sets a timer, and is killed if it does not take it back in time.
// Private to service/.

#include "services/service.hpp"

#include <memory>

namespace muster {

/// Does nothing unless TORCHELASTIC_ENABLE_FILE_TIMER is 1.
[[nodiscard]] std::unique_ptr<Service> make_file_timer(const ServiceInput& input);

}  // namespace muster
