#pragma once

// Encodes and decodes the messages between muster and its PMIx server. The server is a separate program,
// src/services/mpi/pmix_server/; its frames.h describes the bytes.

#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace muster::mpi {

/// A node as MPI sees it.
struct PmixNode {
  std::string host;        ///< unique among the nodes
  std::vector<int> ranks;  ///< global ranks that run there, by local rank
};

/// The job's ranks by node: the first message to the server.
struct PmixJob {
  std::string name;    ///< PMIx namespace, at most 255 bytes; unique on this machine
  std::string folder;  ///< private directory for files of the library and the ranks
  int local_node = 0;
  std::vector<PmixNode> nodes;  ///< by node rank
};

std::string write_job(const PmixJob& job);
/// Encodes the result of a fence: the contributions of all nodes, by node rank. Without `parts`: it failed.
std::string write_fenced(std::uint32_t number, std::optional<std::string_view> parts);

std::string write_shown(std::uint32_t number);

/// Variables that the PMIx library requires in the environment of a rank of this node.
struct RankEnvironment {
  int rank = 0;
  std::vector<std::string> variables;  ///< "NAME=value"

  bool operator==(const RankEnvironment&) const = default;
};
/// The server is ready: the ranks of this node may start.
struct PmixReady {
  std::string version;  ///< reported by the library

  bool operator==(const PmixReady&) const = default;
};
/// The server cannot be provided.
struct PmixRefused {
  std::string why;

  bool operator==(const PmixRefused&) const = default;
};
/// A rank has reached MPI_Init.
struct RankConnected {
  int rank = 0;

  bool operator==(const RankConnected&) const = default;
};
/// A rank has left by MPI_Finalize.
struct RankFinalized {
  int rank = 0;

  bool operator==(const RankFinalized&) const = default;
};
/// A rank has called MPI_Abort.
struct RankAborted {
  int rank = 0;
  int code = 0;
  std::string message;

  bool operator==(const RankAborted&) const = default;
};
/// The participating ranks of this node have reached a fence. The reply is `write_fenced`.
struct FenceReached {
  std::uint32_t number = 0;
  std::vector<int> ranks;  ///< of all nodes; empty: all of the job
  std::string part;        ///< this node's contribution

  bool operator==(const FenceReached&) const = default;
};
/// A message of MPI for the user. The rank that sent it continues after the reply `write_shown`.
struct RankMessage {
  std::uint32_t number = 0;
  int rank = 0;
  std::string text;  ///< one or more lines

  bool operator==(const RankMessage&) const = default;
};
using PmixEvent = std::variant<RankEnvironment, PmixReady, PmixRefused, RankConnected, RankFinalized, RankAborted,
                               RankMessage, FenceReached>;

/// Unpacks the text of a help message that Open MPI 4 has packed; empty: `packed` is none. It has a file, a topic,
/// whether there is a text, and the text; before each the number of its values, before each text its size with a zero
/// byte, in network order. Source: Open MPI 4.1, orte/util/show_help.c and opal/dss.
std::string unpack_help(std::string_view packed);

/// Assembles the server's messages from chunks of any size.
class PmixReader {
 public:
  /// Fails with `BadData` for an invalid message; then ignores all further input.
  [[nodiscard]] Result<std::vector<PmixEvent>> feed(std::string_view bytes);

 private:
  std::string pending_;
};

/// The PMIx server's executable for this machine, as bytes: linked dynamically, needs glibc 2.17.
std::string_view pmix_server_program();

}  // namespace muster::mpi
