#pragma once

// The store by which the ranks of PyTorch meet, as a service. Private to service/.

#include "services/service.hpp"

namespace muster {

[[nodiscard]] std::unique_ptr<Service> make_torch_store(const ServiceInput& input);

}  // namespace muster
