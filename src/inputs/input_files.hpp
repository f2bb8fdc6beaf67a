#pragma once

// What a job needs and somebody else still has to write, such as a rank table: asked again and again
// until it is there. Who asks when is run/'s business; here is only what the answer is.

#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "modes/mode_template.hpp"
#include "platforms/cluster.hpp"
#include "rank_table/local_instance.hpp"
#include "rank_table/read.hpp"
#include "rank_table/route_plan.hpp"

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace muster {

/// A file that is waited for.
struct Input {
  std::string what;  ///< what messages call it: "rank table"
  /// A relative one begins where muster was started; a rank table's may be a folder.
  std::string path;
  std::string field;             ///< of the JSON object in it; empty: any content will do
  std::string wanted;            ///< what that field has to be
  bool is_rank_table = false;    ///< instead: it has to be a rank table that is complete
  rank_table::Rules rules = {};  ///< for that
};

/// What was found under its name.
struct FileContent {
  std::string content;
  int error_number = 0;             ///< why it cannot be read; 0: it was
  std::string path = {};            ///< in the folder that was named; empty: as it was named
  std::optional<int> version = {};  ///< of a rank table, which is counted beside it
};
/// How a file is looked at.
using InputReader = std::function<FileContent(const Input&)>;

/// It is as it has to be.
struct Ready {
  std::optional<rank_table::TableFile> table = {};  ///< what a rank table says
};
struct Pending {
  std::string reason;  ///< "rank table '/x': missing"
};
/// An Error is final: no later look can do better.
using Answer = std::variant<Ready, Pending, Error>;

/// The inputs of a job: those of its template whose parameters have a value.
[[nodiscard]] std::vector<Input> find_inputs(const ChosenMode& chosen, const Cluster& cluster,
                                             const Snapshot& snapshot);

/// Pure: what to make of what was found. A JSON object without the field counts as complete, as rank
/// tables of version 2.0 are.
[[nodiscard]] Answer judge(const Input& input, FileContent found);

/// Reads the file as it is now. A pipe or a device is not waited for.
[[nodiscard]] FileContent look_at(const Input& input);

/// Reads a pipe or a device to its end, and waits for that.
[[nodiscard]] FileContent read_stream(const std::string& path);

/// As the snapshot has it, else as it is now.
[[nodiscard]] FileContent look_at(const Input& input, const Snapshot& snapshot);

/// Differs when somebody has touched one of the files: what is large is not read again for nothing.
[[nodiscard]] std::string fingerprint_of(const std::vector<Input>& inputs);

/// Asks all of them: the first error, else what is missing, else that all are here.
[[nodiscard]] Answer poll(const std::vector<Input>& inputs, const InputReader& look);
[[nodiscard]] Answer poll(const std::vector<Input>& inputs);

// The route plan of ROUTE_PLAN=true, as far as one node can tell: what it would do is told to the others, and
// done if all of them would (docs/rank-tables.md).

/// What a node found.
struct RouteFinding {
  rank_table::RouteVote vote;
  std::vector<int> ranks;  ///< behind its digest; empty: it has none
};

/// The files that a plan may be in, as they were found.
struct RouteFiles {
  FileContent planned;   ///< the platform's planned table, beside the rank table
  FileContent topology;  ///< what the switches are
};

/// Pure: the platform's own plan first, by table and by place, then ours by the switches. The node is instance
/// `own` of the table. There is nothing to wait for but the topology.
[[nodiscard]] std::variant<RouteFinding, Pending> judge_route(const rank_table::RouteRequest& request,
                                                              const rank_table::Table& table, std::size_t own,
                                                              const RouteFiles& files);

/// Reads them. `table` is the path of the rank table.
[[nodiscard]] RouteFiles find_routes(const rank_table::RouteRequest& request, const std::string& table);

}  // namespace muster
