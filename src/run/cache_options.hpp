#pragma once

// Options of the caches of compilers (docs/first-step.md). The folder compile_cache/ has their rules.

#include "base/result.hpp"

#include <optional>
#include <string>

namespace muster {

struct CacheOptions {
  std::optional<Sourced<std::string>> store;  ///< the shared folder of --compile-cache, absolute; empty: off
  std::string folder;                         ///< this node's own; empty: off, or there is no place for it
  /// The user's name as in names of temporary folders, if these are beside `folder`; empty: they are elsewhere.
  std::string user;
};

}  // namespace muster
