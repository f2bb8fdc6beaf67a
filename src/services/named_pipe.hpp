#pragma once

// Named pipes for services.

#include "services/service.hpp"

#include <boost/asio/io_context.hpp>

#include <string>

namespace muster {

/// Opens a named pipe for reading. Fails with `System`, also for a file that is not a pipe.
[[nodiscard]] Result<std::unique_ptr<NamedPipe>> open_pipe(boost::asio::io_context& io, const std::string& path,
                                                           PipeOwner& owner);

}  // namespace muster
