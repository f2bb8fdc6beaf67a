#pragma once

// JSON values by name only, for headers that hand one on.

#include <boost/json/fwd.hpp>

namespace muster {

namespace json = boost::json;

}  // namespace muster
