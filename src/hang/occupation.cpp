// Knows the functions in which programs wait, compile or serve.
#include "hang/occupation.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

namespace muster::hang {
namespace {

/// A function, and what a program does while it is in that function.
struct Row {
  std::string_view file;      ///< end of the path, or a folder in it, with a slash at the end
  std::string_view function;  ///< empty: any function of the file
  std::string_view name{};    ///< for messages; empty: that of the function
};

/// Name of a program's part that computes, and waits for ranks where it reduces gradients.
constexpr std::string_view kBackward = "the backward pass";

/// The functions in which programs wait for other ranks, as of PyTorch 2.14, Horovod 0.28, MindSpore 2.10 and JAX 0.10.
constexpr std::array kWaitsForRanks{
    Row{"torch/distributed/distributed_c10d.py", "init_process_group"},
    Row{"torch/distributed/rendezvous.py", {}, "init_process_group"},
    Row{"torch/distributed/distributed_c10d.py", "destroy_process_group"},
    Row{"torch/distributed/distributed_c10d.py", {}},
    Row{"torch/distributed/_functional_collectives.py", {}},
    Row{"torch/distributed/rpc/api.py", {}},
    Row{"torch/distributed/utils.py", {}, "DistributedDataParallel"},
    Row{"torch/distributed/elastic/utils/store.py", {}},
    Row{"torch/nn/parallel/distributed.py", "_distributed_broadcast_coalesced", "DistributedDataParallel"},
    Row{"torch/nn/parallel/distributed.py", "_pre_forward", "DistributedDataParallel"},
    Row{kBuiltin, "wait"},
    Row{kBuiltin, "get"},
    Row{"torch/autograd/graph.py", "_engine_run_backward", kBackward},
    Row{"torch/cuda/__init__.py", "synchronize", "cuda.synchronize"},
    Row{"torch/cuda/streams.py", "synchronize", "cuda.synchronize"},
    Row{"torch_npu/npu/utils.py", "synchronize", "npu.synchronize"},
    Row{"horovod/torch/mpi_ops.py", {}},
    Row{"horovod/tensorflow/mpi_ops.py", {}},
    Row{"mindspore/communication/comm_func.py", {}},
    Row{"mindspore/communication/management.py", "init", "mindspore's init"},
    Row{"jax/_src/distributed.py", "initialize", "jax.distributed.initialize"},
    Row{"jax/_src/array.py", "block_until_ready"},
    Row{"jax/experimental/multihost_utils.py", {}},
};

/// Functions that wait for the lock of a file by looking again and again.
constexpr std::array kLocks{Row{"torch/utils/file_baton.py", "wait"}, Row{"filelock/_api.py", "acquire"}};

/// Compilers, in which a rank may be for minutes without a change that can be seen from outside.
constexpr std::array kCompilers{Row{"torch/_inductor/", {}},
                                Row{"torch/_dynamo/", {}},
                                Row{"torch/utils/cpp_extension.py", {}},
                                Row{"triton/", {}},
                                Row{"tensorrt/", {}},
                                Row{"jax/_src/compiler.py", {}},
                                Row{"jax/_src/interpreters/", {}}};

/// Loops of servers. They count only as the innermost calls: code that such a loop calls is judged like any other.
constexpr std::array kServers{
    Row{"asyncio/", {}},
    Row{"uvloop/", {}},
    Row{"trio/_core/", {}},
    Row{"anyio/_backends/", {}},
    Row{"/socketserver.py", {}},
    Row{"uvicorn/", {}},
    Row{"grpc/_server.py", {}},
    Row{"zmq/", {}},
    Row{"/queue.py", "get"},
    Row{"multiprocessing/queues.py", "get"},
    Row{"multiprocessing/managers.py", {}},
    Row{"concurrent/futures/", {}},
    Row{"ray/_private/worker.py", {}},
    Row{"vllm/v1/engine/core.py", "run_busy_loop"},
    Row{"sglang/srt/managers/", {}},
};

/// Calls that wait for threads.
constexpr std::array kThreads{Row{"/threading.py", "join"}, Row{"/threading.py", "wait"},
                              Row{"/threading.py", "_wait_for_tstate_lock"}};

/// Calls that wait for a process.
constexpr std::array kChildren{Row{"/subprocess.py", {}},
                               Row{"torch/multiprocessing/spawn.py", {}},
                               Row{"multiprocessing/process.py", "join"},
                               Row{"multiprocessing/popen_fork.py", {}},
                               Row{"multiprocessing/connection.py", {}},
                               Row{"multiprocessing/pool.py", {}}};

/// Loaders of data: they wait for their own processes in queues, and the ranks wait for their batch.
constexpr std::array kLoaders{Row{"torch/utils/data/", {}}};

constexpr std::array kImports{Row{"<frozen importlib", {}}};

/// Kernel functions in which a program waits for a request, by the beginning of their names.
constexpr std::array<std::string_view, 13> kRequests{
    "ep_poll",         "do_epoll_wait", "do_sys_poll",     "do_poll",    "poll_schedule", "do_select", "do_pselect",
    "inet_csk_accept", "unix_accept",   "do_sigtimedwait", "sigsuspend", "do_pause",      "pause"};

std::string_view last_name(std::string_view qualified) {
  return qualified.substr(qualified.rfind('.') + 1);
}

bool matches(const Row& row, const Frame& frame) {
  const bool is_there = row.file.ends_with('/') || row.file.starts_with('<')
                            ? frame.file.find(row.file) != std::string::npos
                            : frame.file.ends_with(row.file);
  return is_there && (row.function.empty() || last_name(frame.function) == row.function);
}

bool has_any(std::span<const Row> rows, std::span<const Frame> frames) {
  return std::ranges::any_of(frames, [&](const Frame& frame) {
    return std::ranges::any_of(rows, [&](const Row& row) { return matches(row, frame); });
  });
}

std::span<const Frame> innermost(const Stack& stack, std::size_t most) {
  return std::span(stack).first(std::min(stack.size(), most));
}

/// The library calls below the innermost call of the user's code.
std::span<const Frame> library_calls(const Stack& stack) {
  return {stack.begin(), std::ranges::find_if_not(stack, is_library)};
}

Occupation occupation_by_stack(const Stack& stack) {
  constexpr std::size_t kNearTop = 12;
  const auto inner = library_calls(stack);
  if (has_any(kLocks, inner)) {
    return Occupation::WaitsForLock;
  }
  if (const std::string wait = awaited_operation(stack); !wait.empty()) {
    return wait == kBackward ? Occupation::Backward : Occupation::WaitsForRanks;
  }
  if (has_any(kCompilers, inner)) {
    return Occupation::Compiles;
  }
  if (has_any(kLoaders, innermost(stack, kNearTop))) {
    return Occupation::Unknown;
  }
  if (has_any(kChildren, inner)) {
    return Occupation::WaitsForChild;
  }
  if (has_any(kServers, inner)) {
    return Occupation::Serves;
  }
  return has_any(kImports, inner.first(std::min(inner.size(), kNearTop))) ? Occupation::Imports : Occupation::Unknown;
}

Occupation occupation_by_kernel(const Place& place) {
  if (place.wait.ends_with(kOfInput) || place.wait.starts_with("n_tty_read")) {
    return Occupation::WaitsForInput;
  }
  if (place.wait.starts_with("do_wait") || place.wait.ends_with(kOfPipe)) {
    return Occupation::WaitsForChild;
  }
  const bool is_request =
      std::ranges::any_of(kRequests, [&](std::string_view function) { return place.wait.starts_with(function); });
  return is_request ? Occupation::Serves : Occupation::Unknown;
}

}  // namespace

Occupation occupation_of(const Place& place) {
  const Occupation known = occupation_by_stack(place.stack);
  return known != Occupation::Unknown || is_polling_wait(place.stack) ? known : occupation_by_kernel(place);
}

bool is_polling_wait(const Stack& stack) {
  return has_any(kLoaders, library_calls(stack));
}

bool is_importing(const Stack& stack) {
  return has_any(kImports, stack);
}

std::string awaited_operation(const Stack& stack) {
  constexpr std::size_t kNearTop = 8;  // wrappers and waits of the library are above the operation
  std::string inner;                   // a function of the library's own, where no public one follows
  const auto find_row = [](const Frame& frame) {
    return std::ranges::find_if(kWaitsForRanks, [&](const Row& row) { return matches(row, frame); });
  };
  const auto frames = innermost(stack, kNearTop);
  if (std::ranges::any_of(frames, [&](const Frame& frame) {
        return frame.function == "<module>" && find_row(frame) != kWaitsForRanks.end();
      })) {
    return {};  // it is being imported
  }
  for (const Frame& frame : frames) {
    const auto* const known = find_row(frame);
    if (known == kWaitsForRanks.end() && !is_library(frame)) {
      break;  // what the user's code does below an operation is no wait
    }
    if (known == kWaitsForRanks.end()) {
      continue;
    }
    const std::string_view own = frame.file == kBuiltin ? frame.function : last_name(frame.function);
    std::string name(known->name.empty() ? own : known->name);
    if (!name.starts_with('_')) {
      return name;
    }
    inner = inner.empty() ? name : inner;
  }
  return inner;
}

bool may_compute(const Stack& stack) {
  const std::string wait = awaited_operation(stack);
  return wait.empty() || wait == kBackward;
}

namespace {

bool is_name(char c) {
  return is_letter_or_digit(c) || c == '_' || c == '.';
}

/// The name behind which `call` begins in the line: "self.store" of "x = self.store.get(key)"; empty: there is none.
std::string_view owner_of(std::string_view line, std::string_view call) {
  const std::size_t end = line.find(call);
  if (end == std::string_view::npos) {
    return {};
  }
  std::size_t begin = end;
  while (begin > 0 && is_name(line[begin - 1])) {
    --begin;
  }
  return line.substr(begin, end - begin);
}

}  // namespace

bool waits_for_thread_or_socket(std::string_view kernel_wait) {
  static constexpr std::array<std::string_view, 6> kSleeps{"futex", "poll", "wait_woken", "sk_wait", "select", "tcp_"};
  return std::ranges::any_of(kSleeps,
                             [&](std::string_view word) { return kernel_wait.find(word) != std::string_view::npos; });
}

std::optional<Frame> find_builtin_wait(std::string_view source_line, std::string_view kernel_wait) {
  if (!waits_for_thread_or_socket(kernel_wait)) {
    return {};
  }
  if (const std::string_view owner = owner_of(source_line, ".wait(");
      !owner.empty() || source_line.find(").wait(") != std::string_view::npos) {
    return Frame{std::string(kBuiltin), std::string(owner) + (owner.empty() ? "" : ".") + "wait"};
  }
  const std::string_view store = owner_of(source_line, ".get(");
  return lower_case(std::string(store)).find("store") == std::string::npos
             ? std::nullopt
             : std::optional(Frame{std::string(kBuiltin), std::string(store) + ".get"});
}

bool leaves_work_to_threads(const Stack& stack) {
  const auto inner = library_calls(stack);
  return (has_any(kServers, inner) || has_any(kThreads, inner)) && !has_any(kLoaders, inner) &&
         awaited_operation(stack).empty();
}

std::size_t find_training_thread(const std::vector<Thread>& threads) {
  std::size_t found = 0;
  if (threads.empty() || !leaves_work_to_threads(threads.front().stack)) {
    return found;
  }
  for (std::size_t i = 1; i < threads.size(); ++i) {
    const Stack& stack = threads[i].stack;
    if (!awaited_operation(stack).empty()) {
      return i;
    }
    const bool trains = std::ranges::find_if_not(stack, is_library) != stack.end() && !leaves_work_to_threads(stack);
    found = trains && (found == 0 || threads[i].cpu_ms > threads[found].cpu_ms) ? i : found;
  }
  return found;
}

bool is_first_meeting(const std::string& operation) {
  return operation == "init_process_group" || operation == "mindspore's init" ||
         operation == "jax.distributed.initialize";
}

}  // namespace muster::hang
