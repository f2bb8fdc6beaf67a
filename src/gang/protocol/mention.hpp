#pragma once

#include "base/log.hpp"

#include <string>

namespace muster::gang {

/// Something to tell the people at this node.
struct LogLine {
  Level level = Level::Info;
  std::string text;
};

}  // namespace muster::gang
