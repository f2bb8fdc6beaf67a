#pragma once

// The variables by which `accelerate launch` tells workers how to train. Private to compat/accelerate/.

#include "compat/front_end.hpp"

namespace muster::accelerate {

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
[[nodiscard]] Result<std::string> text_of(const WorkerVariable& variable,
                                          const Sourced<std::string>& value);

/// True for what Python's YAML reader takes for true, or for false. Empty for anything else.
/// Source: YAML 1.1, "Boolean Language-Independent Type"; accelerate's str_to_bool takes the single letters and digits as well.
[[nodiscard]] std::optional<bool> read_truth(std::string_view text);

}  // namespace muster::accelerate
