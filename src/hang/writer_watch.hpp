#pragma once

// Watches a job in which one rank writes lines while all others are quiet, such as by a thread that reports the use of the
// machine: its lines are no sign that the job moves. Pure.

#include "hang/evidence.hpp"
#include "hang/verdict.hpp"

#include <optional>

namespace muster::hang {

class WriterWatch {
 public:
  /// A rank for which all others waited each time that the ranks were examined, and that stood still.
  struct Stand {
    Verdict verdict;
    double seconds = 0;  ///< since the first of these looks
    int looks = 0;
  };

  /// Compares with the evidence before. Empty: no rank is known to stand still. If the rank itself is the one that writes, it
  /// must not have moved at all, because its main thread may write.
  std::optional<Stand> look(Evidence evidence);
  void forget() { before_.reset(); }

 private:
  std::optional<Evidence> before_;
  std::optional<Verdict> verdict_;
  double since_ = 0;  ///< of the verdict, by `Evidence::others_quiet`
  int looks_ = 0;
};

}  // namespace muster::hang
