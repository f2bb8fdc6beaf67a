#pragma once

// Watches a job in which one rank writes lines while all others are quiet, such as by a thread that reports the use of the
// machine: its lines are no sign that the job moves. Pure.

#include "hang/evidence.hpp"
#include "hang/verdict.hpp"

#include <optional>

namespace muster::hang {

class WriterWatch {
 public:
  /// A rank that stands still while all others wait for it, as each look has shown.
  struct Stand {
    Verdict verdict;
    double seconds = 0;  ///< since the first of these looks
    int looks = 0;
  };

  /// Compares with the look before. Empty: nobody is known to stand. Of the rank that writes itself no movement at all is
  /// allowed: it may be its main thread that writes.
  std::optional<Stand> look(Evidence evidence);
  void forget() { before_.reset(); }

 private:
  std::optional<Evidence> before_;
  std::optional<Verdict> verdict_;
  double since_ = 0;  ///< of the verdict, by `Evidence::others_quiet`
  int looks_ = 0;
};

}  // namespace muster::hang
