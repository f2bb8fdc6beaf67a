// Decides whether the two streams of a worker are one, and which is a terminal.
#include "process/output_way.hpp"

namespace muster {
namespace {

/// A program that writes to a terminal draws there: what is kept in files should be read.
bool wants_terminal(const StreamTarget& target, When terminals) {
  if (terminals != When::Auto) {
    return terminals == When::Always;
  }
  return target.is_terminal && target.file == StreamFile::None;
}

}  // namespace

OutputConnection choose_output_way(const StreamTarget& out,
                                   const StreamTarget& error,
                                   When terminals) {
  const bool goes_somewhere = out.console || out.file == StreamFile::Joined;
  return {.is_joined = goes_somewhere && out == error && out.file != StreamFile::Own,
          .out_is_terminal = wants_terminal(out, terminals),
          .error_is_terminal = wants_terminal(error, terminals)};
}

}  // namespace muster
