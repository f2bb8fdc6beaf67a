// Something that stands for nothing, also in an image without devices.
#include "base/null_device.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace muster {

UniqueFd open_null(NullFor use) {
  UniqueFd device(::open("/dev/null", O_RDWR | O_CLOEXEC));
  int ends[2] = {-1, -1};
  if (device || ::pipe2(ends, O_CLOEXEC) != 0) {
    return device;
  }
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  return use == NullFor::Reading ? std::move(read_end) : std::move(write_end);
}

}  // namespace muster
