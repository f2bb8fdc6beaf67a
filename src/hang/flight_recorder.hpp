#pragma once

// Reads a dump of PyTorch's flight recorder, versions 2.x of its format (PyTorch 2.4 to 2.14, torch_npu, XCCL). Pure.

#include "base/result.hpp"
#include "hang/collectives.hpp"

#include <string_view>
#include <vector>

namespace muster::hang {

/// The progress of one rank in each of its process groups. A group that also sends and receives has no name, because
/// these calls are counted, too, and differ among its ranks. A group is left out if the recorder has forgotten all
/// its collectives. Fails with `BadData` for another format.
[[nodiscard]] Result<std::vector<GroupProgress>> read_flight_recorder(std::string_view dump);

}  // namespace muster::hang
