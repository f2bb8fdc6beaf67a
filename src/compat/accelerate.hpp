#pragma once

// The configuration file of accelerate, as `accelerate config` writes it.

#include "compat/compat_launcher.hpp"

namespace muster::accelerate {

/// What it says, by names of options with dashes. Null is as if nothing was said.
struct Configuration {
  std::map<std::string, Sourced<std::string>> values;   ///< of the file itself
  std::map<std::string, Sourced<std::string>> members;  ///< of its sections; a list has commas
  std::vector<std::string> deepspeed_fields;            ///< keys of its deepspeed_config
  bool has_parallelism = false;                         ///< its parallelism_config says something
  std::string name;                                     ///< of the file, for people

  [[nodiscard]] std::optional<Sourced<std::string>> find(const std::string& key) const;
};

/// Where it is if no option says it; empty: nobody has a home here.
/// Source: accelerate/commands/config/config_args.py.
[[nodiscard]] std::string default_place(const Snapshot& snapshot);

/// Reads its text: YAML, or JSON, which is YAML as well. Fails with `BadData` for what is neither, and for a key that
/// accelerate does not know.
[[nodiscard]] Result<Configuration> read_configuration(const std::string& text, const std::string& name);

// How `accelerate launch` would launch, from its flags and its configuration file.

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
  std::string deepspeed_fields;  ///< keys of the file's deepspeed_config, and mixed_precision, with commas

  /// True where the launcher starts torchrun's processes, whatever their number.
  [[nodiscard]] bool is_distributed() const {
    return !is_cpu && (is_multi_gpu || is_deepspeed || is_fsdp || is_megatron_lm);
  }
};

/// Reads both. What the file says for options that are not given stands in `Translation::given` afterwards.
/// Fails for what accelerate refuses, and for what only accelerate itself can do.
[[nodiscard]] Result<Launch> read_launch(Translation& translation);

// What workers of accelerate find in their environment.

/// Sets the variables that the launcher gives workers of this kind, beside those of torchrun. `is_simple`: one process that is
/// no rank. Fails for a value that its option does not take.
[[nodiscard]] Result<> export_environment(Translation& translation, const Launch& launch, bool is_simple);

// The variables by which `accelerate launch` tells workers how to train.

/// How the launcher writes a value: as Python's str() does, of what argparse or the configuration file made of it.
enum class Spelling {
  Text,      ///< as it was given
  Lower,     ///< in small letters
  Upper,     ///< in capital letters
  Truth,     ///< as it was given, or True or False of the file
  Nonempty,  ///< argparse's type=bool: True of any text, "False" too; else True or False of the file
  Bit,       ///< 1 or 0, or True or False of the file
  Decimal    ///< a float
};

/// An option that only tells workers something: the same name in the configuration file.
struct WorkerVariable {
  const char* option;
  const char* argument;  ///< what its value is called; nullptr: a switch
  const char* variable;
  const char* otherwise;  ///< its value where nobody gives one; nullptr: it is not set then
  Spelling spelling = Spelling::Text;
  const char* choices = nullptr;  ///< anything else is an error
};

/// What makes a group count.
enum class Group {
  Dynamo,
  Fp8,
  Fsdp,
  DeepSpeed,
  MegatronLm,
  Parallelism,         ///< --use_parallelism_config
  ContextParallelism,  ///< that, with more than one process for a context
  SequenceParallelism  ///< that, with more than one process for a sequence
};

[[nodiscard]] std::span<const WorkerVariable> variables_of(Group group);

/// A row for each of them, in the order of the groups.
[[nodiscard]] std::span<const CompatOption> variable_options();

/// The text that workers find. Fails for a value that is none.
[[nodiscard]] Result<std::string> text_of(const WorkerVariable& variable, const Sourced<std::string>& value);

/// True for what Python's YAML reader takes for true, or for false. Empty for anything else.
/// Source: YAML 1.1, "Boolean Language-Independent Type"; accelerate's str_to_bool takes the single letters and digits as well.
[[nodiscard]] std::optional<bool> read_truth(std::string_view text);

}  // namespace muster::accelerate
