#pragma once

#include <cstddef>
#include <string>

namespace muster {

/// More than any traceback has.
inline constexpr std::size_t kMostErrorFileBytes = std::size_t{1} << 20U;

/// What a worker wrote into its error file, in one sentence; the known forms are those of
/// torch.distributed.elastic: {"message": "text"} and {"message": {"message": "text", ...}}.
/// Anything else, torn or binary, gives nothing: it must not break the report.
[[nodiscard]] std::string read_error_file(const std::string& content);

/// The error file for the launcher above: all that the worker wrote, and `errorCode` in a message of the second form, unless that is
/// 0. JSON; empty for anything else.
/// Source: dump_error_file in torch/distributed/elastic/multiprocessing/errors/error_handler.py of torch 2.13.
[[nodiscard]] std::string pass_on_error_file(const std::string& content, int error_code);

}  // namespace muster
