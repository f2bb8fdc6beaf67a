#pragma once

// Options of the watch for hangs (docs/hangs.md). The folder hang/ judges, and agent/hang/ watches.

#include <chrono>
#include <set>
#include <string>

namespace muster {

namespace hang {

/// May be asked about the ranks of a job beside the kernel.
enum class Question {
  Stacks,    ///< the memory of the ranks' Pythons
  PySpy,     ///< a program that reads the memory of others
  Recorder,  ///< PyTorch's flight recorder
  Nccl       ///< the RAS threads of NCCL; asked if a person wishes it, too
};

/// Those that are allowed where nobody says more.
inline std::set<Question> usual_questions() {
  return {Question::Stacks, Question::PySpy, Question::Recorder};
}

}  // namespace hang

/// Times after which something is done about a job that is quiet, and how (docs/hangs.md).
struct HangOptions {
  std::chrono::milliseconds report{60'000};    ///< it is reported; 0: never
  std::chrono::milliseconds timeout{0};        ///< its attempt ends if it hangs; 0: never
  std::chrono::milliseconds first_meeting{0};  ///< likewise, before its ranks have met; 0: never
  /// A worker fails that is in one uninterruptible system call for so long; 0: never.
  std::chrono::milliseconds call{0};
  std::string command;                                      ///< run when it is reported; empty: none
  std::set<hang::Question> asks = hang::usual_questions();  ///< that a look at the ranks may ask
};

}  // namespace muster
