#pragma once

// Watches a job in which only one rank writes lines, while all others are quiet. Its lines may come from a thread
// that reports the machine's load, and do not show that the job moves. Pure.

#include "hang/evidence.hpp"
#include "hang/verdict.hpp"

#include <optional>

namespace muster::hang {

class WriterWatch {
 public:
  /// A rank that stood still while all others waited for it, at each look.
  struct Stand {
    Verdict verdict;
    double seconds = 0;  ///< since the first of these looks
    int looks = 0;
  };

  /// Compares the evidence with that of the last look. Empty: no rank is known to stand still. If the rank itself
  /// writes the lines, it must not have moved at all, because its main thread may write them.
  std::optional<Stand> look(Evidence evidence);
  void forget() { before_.reset(); }

 private:
  std::optional<Evidence> before_;
  std::optional<Verdict> verdict_;
  double since_ = 0;  ///< of the first such verdict, by `Evidence::others_quiet`
  int looks_ = 0;
};

}  // namespace muster::hang
