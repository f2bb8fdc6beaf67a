#pragma once

// What muster and its PMIx server say to each other. The server is a small program of its own, src/mpi/pmix_server/:
// frames.h there describes the bytes.

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
  std::string host;        ///< no other node has this name
  std::vector<int> ranks;  ///< global ranks that run there, by local rank
};

/// Who runs where: the first thing that the server is told.
struct PmixJob {
  std::string name;    ///< the namespace of PMIx, at most 255 bytes; no other job on this machine has it
  std::string folder;  ///< a private one, for what the library and the ranks write
  int local_node = 0;
  std::vector<PmixNode> nodes;  ///< by node rank
};

[[nodiscard]] std::string write_job(const PmixJob& job);
/// What came out of a fence: the parts of all nodes, by node rank. Empty: it failed.
[[nodiscard]] std::string write_fenced(std::uint32_t number, std::optional<std::string_view> parts);

[[nodiscard]] std::string write_shown(std::uint32_t number);

/// What the library wants in the environment of a rank of this node.
struct RankEnvironment {
  int rank = 0;
  std::vector<std::string> variables;  ///< "NAME=value"

  bool operator==(const RankEnvironment&) const = default;
};
/// The ranks of this node may start.
struct PmixReady {
  std::string version;  ///< of the library, as it says it

  bool operator==(const PmixReady&) const = default;
};
/// There will be no server.
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
/// The ranks of this node that take part are at a fence. It is to be answered by `write_fenced`.
struct FenceReached {
  std::uint32_t number = 0;
  std::vector<int> ranks;  ///< of all nodes; empty: all of the job
  std::string part;        ///< what this node contributes

  bool operator==(const FenceReached&) const = default;
};
/// MPI has something to tell the user of a rank, which goes on when it is answered by `write_shown`.
struct RankMessage {
  std::uint32_t number = 0;
  int rank = 0;
  std::string text;  ///< lines

  bool operator==(const RankMessage&) const = default;
};
using PmixEvent = std::variant<RankEnvironment, PmixReady, PmixRefused, RankConnected, RankFinalized, RankAborted,
                               RankMessage, FenceReached>;

/// The text of a message that a rank of Open MPI 4 would have shown. Empty: it is none.
/// Source: Open MPI 4.1, orte/util/show_help.c and opal/dss: file, topic, whether there is a text, the text;
/// before each the number of its values, before each text its size with a zero byte, in network order.
[[nodiscard]] std::string unpack_help(std::string_view packed);

/// Puts together what the server says, however it is cut.
class PmixReader {
 public:
  /// Fails with `BadData` for what no server says; nothing is read after that.
  [[nodiscard]] Result<std::vector<PmixEvent>> feed(std::string_view bytes);

 private:
  std::string pending_;
};

/// The PMIx server as an executable file for this machine: it is linked dynamically and needs glibc 2.17.
[[nodiscard]] std::string_view pmix_server_program();

}  // namespace muster::mpi
