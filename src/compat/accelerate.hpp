#pragma once

// Reads the options and the file of `accelerate launch`, and sets its workers' variables. Private to compat/.

#include "compat/compat_launcher.hpp"

namespace muster::accelerate {

/// A configuration file, as `accelerate config` writes it. Its keys are option names, with dashes. Null values are
/// left out.
struct Configuration {
  std::map<std::string, Sourced<std::string>> values;   ///< top-level values
  std::map<std::string, Sourced<std::string>> members;  ///< values in sections; a list is joined by commas
  std::vector<std::string> deepspeed_fields;            ///< keys of deepspeed_config
  bool has_parallelism = false;                         ///< parallelism_config is not empty
  std::string name;                                     ///< name of the file, for messages

  std::optional<Sourced<std::string>> find(const std::string& key) const;
};

/// Reads the text of a configuration file: YAML, or JSON, which is YAML as well. Fails with `BadData` for any other
/// text, and for a key that accelerate does not know.
[[nodiscard]] Result<Configuration> read_configuration(const std::string& text, const std::string& name);

// Kind of launch that the flags and the configuration file of `accelerate launch` ask for.

struct Launch {
  bool has_file = false;      ///< a configuration file has been read
  bool is_cpu = false;        ///< --cpu: none of the following kinds counts
  bool is_multi_gpu = false;  ///< also MULTI_NPU and the file's other kinds of accelerators
  bool is_multi_cpu = false;  ///< MULTI_CPU in the file
  bool is_deepspeed = false;
  bool is_fsdp = false;
  bool is_megatron_lm = false;
  bool has_parallelism = false;
  bool uses_cpu = false;  ///< --cpu, or the file's use_cpu
  bool is_debugged = false;
  Sourced<std::string> mixed_precision{"no", {}};
  std::string deepspeed_fields;  ///< keys of the file's deepspeed_config, and mixed_precision, joined by commas

  /// True if the launcher starts torchrun's processes, whatever their number.
  bool is_distributed() const { return !is_cpu && (is_multi_gpu || is_deepspeed || is_fsdp || is_megatron_lm); }
};

/// Reads the flags and the file. The file's values for options without a flag are in `Translation::given` afterwards.
/// Fails for what accelerate refuses, and for what only accelerate itself can do.
[[nodiscard]] Result<Launch> read_launch(Translation& translation);

/// Sets the variables that the launcher gives workers of this kind, beside those of torchrun. `is_simple`: the job is
/// one process that is no rank. Fails for a value that its option does not take.
[[nodiscard]] Result<> export_environment(Translation& translation, const Launch& launch, bool is_simple);

// The variables that tell workers how to train.

/// The spelling of a value by the launcher: Python's str() of what argparse or the configuration file gave.
enum class Spelling {
  Text,      ///< as it was given
  Lower,     ///< in lower case
  Upper,     ///< in upper case
  Truth,     ///< as it was given; True or False for a boolean of the file
  Nonempty,  ///< argparse's type=bool: True for any text, "False" too; else True or False for a boolean of the file
  Bit,       ///< 1 or 0; True or False for a boolean of the file
  Decimal    ///< a float
};

/// An option that only sets a variable of the workers. Its key in the configuration file has the same name.
struct WorkerVariable {
  const char* option;
  const char* argument;  ///< name of its value in --help; nullptr: a switch
  const char* variable;
  const char* otherwise;  ///< its default; nullptr: the variable is not set
  Spelling spelling = Spelling::Text;
  const char* choices = nullptr;  ///< any other value is an error
};

/// Groups of variables: all variables of a group are set if that kind of training is used.
enum class Group {
  Dynamo,
  Fp8,
  Fsdp,
  DeepSpeed,
  MegatronLm,
  Parallelism,         ///< --use_parallelism_config
  ContextParallelism,  ///< parallelism with more than one process for a context
  SequenceParallelism  ///< parallelism with more than one process for a sequence
};

std::span<const WorkerVariable> variables_of(Group group);

/// One row for each worker variable, in the order of the groups.
std::vector<CompatOption> variable_options();

/// Text of the variable for the workers. Fails for a value that the option does not take.
[[nodiscard]] Result<std::string> text_of(const WorkerVariable& variable, const Sourced<std::string>& value);

}  // namespace muster::accelerate
