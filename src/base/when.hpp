#pragma once

// The choice of options such as --colour: always, never, or as the surroundings suggest.

namespace muster {

enum class When {
  Auto,
  Always,
  Never
};

}  // namespace muster
