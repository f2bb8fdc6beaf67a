#pragma once

// Opens the named pipes of services. Private to run/.

#include "services/named_pipe.hpp"

#include <boost/asio/io_context.hpp>

namespace muster {

/// Fails with `System`, also for what is no pipe.
[[nodiscard]] Result<std::unique_ptr<NamedPipe>> open_pipe(boost::asio::io_context& io,
                                                           const std::string& path,
                                                           PipeEvents events);

}  // namespace muster
