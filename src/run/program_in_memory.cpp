// Reading may hang, so it is done by somebody else: see docs/processes.md.
#include "program_in_memory.hpp"

#include "process/own_memory.hpp"

#include <chrono>
#include <string>

namespace muster {
namespace {

/// A job that has lasted so long is worth it.
constexpr std::chrono::seconds kWorthHolding{1};

}  // namespace

ProgramInMemory::ProgramInMemory(boost::asio::io_context& io, Asides& asides, GuardLink& link)
    : link_(link), errand_(io, asides), begin_(io, kWorthHolding, [this] { read(); }) {}

void ProgramInMemory::read() {
  const auto work = [] {
    read_program();
    return std::string();
  };
  errand_.start({work, {}}, Errand::kNoLimit, [this](const Errand::Answer& answer) {
    if (answer) {  // else somebody has killed it, and the file may still not answer
      hold_program_in_memory();
      link_.page.note_program_read();
      wake_guard(link_.guard);
    }
  });
}

}  // namespace muster
