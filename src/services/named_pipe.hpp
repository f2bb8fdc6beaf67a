#pragma once

// A named pipe into which processes of this node write, such as requests for a timer. What services ask for; run/ opens it.

#include "base/result.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// What happens. Called from the event loop, never from within a call of ours.
struct PipeEvents {
  std::function<void(std::string_view bytes)> on_bytes;
  /// It is as late as was asked for.
  std::function<void()> on_time;
};

/// Read from its birth until it is destroyed; whoever has opened it for writing may come and go.
class NamedPipe {
 public:
  NamedPipe() = default;
  NamedPipe(const NamedPipe&) = delete;
  NamedPipe& operator=(const NamedPipe&) = delete;
  virtual ~NamedPipe() = default;

  /// So long from now `on_time` is called, once, and not when that was asked for before. Empty: never.
  virtual void wake_after(std::optional<std::chrono::nanoseconds> delay) = 0;
};

/// Opens one that is there. Its file system has just answered: nobody waits for it here.
using OpenPipe =
    std::function<Result<std::unique_ptr<NamedPipe>>(const std::string& path, PipeEvents)>;

}  // namespace muster
