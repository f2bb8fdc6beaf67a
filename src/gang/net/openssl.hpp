#pragma once

// What the files that use OpenSSL share. Private to gang/.

#include <string>

namespace muster::gang {

/// To be called before anything else of OpenSSL, as often as one likes. It reads no configuration of
/// the machine, which is none of a job's business, and leaves nothing to do at exit.
void start_openssl();

/// What OpenSSL says about its last error, for a bug report.
[[nodiscard]] std::string openssl_error();

}  // namespace muster::gang
