#pragma once

// Constructors of the services, for the table in services.cpp, and what the agent does for them.

#include "services/service.hpp"

#include <memory>
#include <string>

namespace muster {

/// Writes the files that a plan names.
std::unique_ptr<Service> make_planned_files(const ServiceInput& input);

/// The watchdog of torch.distributed.elastic: kills a worker that does not release its timer in time. Does nothing
/// unless TORCHELASTIC_ENABLE_FILE_TIMER is 1.
std::unique_ptr<Service> make_file_timer(const ServiceInput& input);

/// The PMIx server of this node, for MPI ranks without mpirun.
std::unique_ptr<Service> make_pmix_service(const ServiceInput& input);

/// Keys and configuration with which mpirun reaches the other nodes by ssh.
std::unique_ptr<Service> make_ssh_service(const ServiceInput& input);

/// PyTorch's store on the leader, where the ranks meet.
std::unique_ptr<Service> make_torch_store(const ServiceInput& input);

/// The port where the workers of an attempt meet.
std::unique_ptr<Service> make_worker_port_service(const ServiceInput& input);

/// Writes the PMIx server, the program that serves the MPI ranks of one node, to the private directory of the run, once,
/// and returns its path.
[[nodiscard]] Result<std::string> write_pmix_server(const std::string& run_folder);

}  // namespace muster
