#pragma once

// A secret that the nodes of a job share, for its own processes: {job_secret}.

#include "gang/exchange_values.hpp"

namespace muster {

/// The key "job_secret": each node contributes random digits, and all get those of node 0. What the links of the
/// gang protect is protected.
[[nodiscard]] gang::ExchangeKey job_secret_key();

/// Empty: nobody has contributed one.
[[nodiscard]] std::string read_job_secret(const gang::Exchanged& merged);

}  // namespace muster
