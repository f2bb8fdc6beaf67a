#pragma once

// Options of the watch for hangs (docs/hangs.md). The folder hang/ judges, and agent/hang/ watches.

#include <chrono>
#include <set>
#include <string>

namespace muster {

namespace hang {

/// The sources that muster may ask about the ranks of a job, in addition to the kernel.
enum class Question {
  Stacks,    ///< the memory of the ranks' Pythons
  PySpy,     ///< a program that reads the memory of others
  Recorder,  ///< PyTorch's flight recorder
  Nccl       ///< the RAS threads of NCCL; asked only if a person also gives --ask-nccl
};

/// The questions that are allowed by default.
inline std::set<Question> usual_questions() {
  return {Question::Stacks, Question::PySpy, Question::Recorder};
}

}  // namespace hang

/// Decides what muster does about a quiet job, and after which time (docs/hangs.md). A job is quiet while no rank writes a
/// line or reports a step.
struct HangOptions {
  std::chrono::milliseconds report{60'000};    ///< the quiet job is reported; 0: never
  std::chrono::milliseconds timeout{0};        ///< the attempt ends if the job hangs; 0: never
  std::chrono::milliseconds first_meeting{0};  ///< the same, while the ranks have not communicated yet; 0: never
  /// A worker that is in one uninterruptible system call for this long has failed; 0: never.
  std::chrono::milliseconds call{0};
  std::string command;                                      ///< run when a hang is reported; empty: none
  std::set<hang::Question> asks = hang::usual_questions();  ///< the questions that muster may ask
};

}  // namespace muster
