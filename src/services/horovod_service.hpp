#pragma once

// Horovod's store on the leader, as a service. Private to service/.

#include "services/service.hpp"

namespace muster {

[[nodiscard]] std::unique_ptr<Service> make_horovod_store(const ServiceInput& input);

}  // namespace muster
