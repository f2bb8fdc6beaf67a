#pragma once

// Opens the ports of services. Private to run/.

#include "services/server.hpp"

#include <boost/asio/io_context.hpp>

namespace muster {

[[nodiscard]] Result<std::unique_ptr<Server>> start_server(boost::asio::io_context& io,
                                                           ServerEvents events);

}  // namespace muster
