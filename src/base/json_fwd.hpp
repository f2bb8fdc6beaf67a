#pragma once

// Declares JSON values for headers that only pass them on.

#include <boost/json/fwd.hpp>

namespace muster {

namespace json = boost::json;

}  // namespace muster
