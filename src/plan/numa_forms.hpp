#pragma once

// The forms of --numa-binding. Private to plan/.

#include "plan/localities.hpp"

#include "plan/binding.hpp"

#include <vector>

namespace muster {

/// The CPUs of one locality among all of the node, sorted; `source` is who is to blame.
[[nodiscard]] Result<std::vector<int>> cpus_of_locality(NumaForm form,
                                                        const Topology& topology,
                                                        const std::vector<Locality>& localities,
                                                        std::size_t locality,
                                                        const Source& source);

/// The CPUs of these NUMA nodes that this process may use, sorted.
[[nodiscard]] std::vector<int> allowed_cpus_of(const Topology& topology,
                                               const std::vector<int>& nodes);

/// The NUMA nodes that a form reaches from these, sorted: for `socket` all of their packages.
[[nodiscard]] std::vector<int> nodes_of_form(NumaForm form,
                                             const Topology& topology,
                                             const std::vector<int>& nodes);

[[nodiscard]] const char* name_of(NumaForm form);

}  // namespace muster
