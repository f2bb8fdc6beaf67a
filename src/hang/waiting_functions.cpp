// Knows the functions in which programs wait for other ranks.
#include "hang/evidence.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace muster::hang {
namespace {

/// A function that waits for other ranks.
struct WaitingFunction {
  std::string_view file;      ///< end of the path
  std::string_view function;  ///< empty: any function of the file
  std::string_view name;      ///< for messages; empty: that of the function
};

/// The functions in which programs wait for other ranks, as of PyTorch 2.14, Horovod 0.28, MindSpore 2.10 and JAX 0.10.
constexpr std::array kWaitingFunctions{
    WaitingFunction{"torch/distributed/distributed_c10d.py", "init_process_group", {}},
    WaitingFunction{"torch/distributed/rendezvous.py", {}, "init_process_group"},
    WaitingFunction{"torch/distributed/distributed_c10d.py", "destroy_process_group", {}},
    WaitingFunction{"torch/distributed/distributed_c10d.py", {}, {}},
    WaitingFunction{"torch/distributed/_functional_collectives.py", {}, {}},
    WaitingFunction{"torch/autograd/graph.py", "_engine_run_backward", "the backward pass"},
    WaitingFunction{"torch/cuda/__init__.py", "synchronize", "cuda.synchronize"},
    WaitingFunction{"torch/cuda/streams.py", "synchronize", "cuda.synchronize"},
    WaitingFunction{"torch_npu/npu/utils.py", "synchronize", "npu.synchronize"},
    WaitingFunction{"horovod/torch/mpi_ops.py", {}, {}},
    WaitingFunction{"horovod/tensorflow/mpi_ops.py", {}, {}},
    WaitingFunction{"mindspore/communication/comm_func.py", {}, {}},
    WaitingFunction{"mindspore/communication/management.py", "init", "mindspore's init"},
    WaitingFunction{"jax/_src/distributed.py", "initialize", "jax.distributed.initialize"},
    WaitingFunction{"jax/experimental/multihost_utils.py", {}, {}},
};

std::string_view last_name(std::string_view qualified) {
  return qualified.substr(qualified.rfind('.') + 1);
}

bool matches(const WaitingFunction& known, const Frame& frame) {
  return frame.file.ends_with(known.file) && (known.function.empty() || last_name(frame.function) == known.function);
}

}  // namespace

std::string waits_for_others(const Stack& stack) {
  constexpr std::size_t kNearTop = 8;  // wrappers and waits of the library are above the operation
  std::string inner;                   // a function of the library's own, where no public one follows
  for (std::size_t i = 0; i < std::min(stack.size(), kNearTop); ++i) {
    const auto* const known = std::ranges::find_if(
        kWaitingFunctions, [&](const WaitingFunction& function) { return matches(function, stack[i]); });
    if (known == kWaitingFunctions.end()) {
      continue;
    }
    std::string name(known->name.empty() ? last_name(stack[i].function) : known->name);
    if (!name.starts_with('_')) {
      return name;
    }
    inner = inner.empty() ? name : inner;
  }
  return inner;
}

}  // namespace muster::hang
