#pragma once

// How `accelerate launch` would launch, from its flags and its configuration file. Private to compat/accelerate/.

#include "compat/front_end.hpp"

namespace muster::accelerate {

struct Launch {
  bool has_file = false;      ///< a configuration file has been read
  bool is_cpu = false;        ///< --cpu: none of the following counts
  bool is_multi_gpu = false;  ///< or what the file calls so of other accelerators
  bool is_multi_cpu = false;  ///< the file's
  bool is_deepspeed = false;
  bool is_fsdp = false;
  bool is_megatron_lm = false;
  bool has_parallelism = false;
  bool uses_cpu = false;  ///< --cpu, or the file's use_cpu
  bool is_debugged = false;
  Sourced<std::string> mixed_precision{"no", {}};
  std::string
      deepspeed_fields;  ///< keys of the file's deepspeed_config, and mixed_precision, with commas

  /// True where the launcher starts torchrun's processes, whatever their number.
  [[nodiscard]] bool is_distributed() const {
    return !is_cpu && (is_multi_gpu || is_deepspeed || is_fsdp || is_megatron_lm);
  }
};

/// Reads both. What the file says for options that are not given stands in `Translation::given` afterwards.
/// Fails for what accelerate refuses, and for what only accelerate itself can do.
[[nodiscard]] Result<Launch> read_launch(Translation& translation);

}  // namespace muster::accelerate
