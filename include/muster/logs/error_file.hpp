#pragma once

#include <string>

namespace muster {

/// What a worker wrote into its error file, in one sentence; the known forms are those of
/// torch.distributed.elastic: {"message": "text"} and {"message": {"message": "text", ...}}.
/// Anything else, torn or binary, gives nothing: it must not break the report.
[[nodiscard]] std::string read_error_file(const std::string& content);

}  // namespace muster
