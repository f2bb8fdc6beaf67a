#pragma once

// The files that a plan names, as a service.

#include "services/service.hpp"

#include <memory>

namespace muster {

[[nodiscard]] std::unique_ptr<Service> make_planned_files(const ServiceInput& input);

// The watchdog of torch.distributed.elastic: a worker sets a timer, and is killed if it does not take it back in time.
//

/// Does nothing unless TORCHELASTIC_ENABLE_FILE_TIMER is 1.
[[nodiscard]] std::unique_ptr<Service> make_file_timer(const ServiceInput& input);

// Horovod's store on the leader, as a service.

[[nodiscard]] std::unique_ptr<Service> make_horovod_store(const ServiceInput& input);

[[nodiscard]] std::unique_ptr<Service> make_pmix_service(const ServiceInput& input);

// The service "ssh": what mpirun needs to reach the other nodes by ssh.

[[nodiscard]] std::unique_ptr<Service> make_ssh_service(const ServiceInput& input);

// The store by which the ranks of PyTorch meet, as a service.

[[nodiscard]] std::unique_ptr<Service> make_torch_store(const ServiceInput& input);

// The port where the workers of an attempt meet, as a service.

[[nodiscard]] std::unique_ptr<Service> make_worker_port_service(const ServiceInput& input);

}  // namespace muster
