#pragma once

// Has guard and agent need no file of their own program any more. Private to run/.

#include "errand.hpp"
#include "process/guard.hpp"
#include "timers.hpp"

#include <boost/asio/io_context.hpp>

namespace muster {

/// Of a job that has lasted for a second a process beside reads the program, however long its file system takes. What is then in the
/// kernel's memory guard and agent hold in theirs, and wait for nothing.
class ProgramInMemory {
 public:
  /// The link outlives it.
  ProgramInMemory(boost::asio::io_context& io, Asides& asides, GuardLink& link);

  /// To be called once.
  void start() { begin_.ask(); }

 private:
  void read();

  GuardLink& link_;
  Errand errand_;
  LaterLook begin_;
};

}  // namespace muster
