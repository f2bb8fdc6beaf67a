#pragma once

// The configuration file of accelerate, as `accelerate config` writes it. Private to compat/accelerate/.

#include "compat/front_end.hpp"

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
[[nodiscard]] Result<Configuration> read_configuration(const std::string& text,
                                                       const std::string& name);

}  // namespace muster::accelerate
