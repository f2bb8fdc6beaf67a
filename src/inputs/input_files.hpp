#pragma once

// Decides whether files that a job needs, such as a rank table, are complete. Another program may still have to write
// them, so the agent polls these functions until the answer is final.

#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "inputs/rank_table_values.hpp"
#include "modes/mode_template.hpp"
#include "platforms/cluster.hpp"

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace muster {

/// Result of reading a file.
struct FileContent {
  std::string content;
  int error_number = 0;             ///< errno of the failed read; 0: it was read
  std::string path = {};            ///< path of the file in the named directory; empty: the path as it was named
  std::optional<int> version = {};  ///< version counter beside a rank table
};

/// The input is complete.
struct Ready {
  std::optional<rank_table::TableFile> table = {};  ///< the parsed rank table
};
struct Pending {
  std::string reason;  ///< "rank table '/x': missing"
};
/// An Error is final: a further attempt to read cannot help.
using Answer = std::variant<Ready, Pending, Error>;

struct Input;
/// Judges the content of a rank table. Pure.
using JudgeTable = std::function<Answer(const Input& input, FileContent found)>;

/// Names of a table's file if only its directory is given.
inline constexpr std::array<const char*, 2> kTableFileNames = {"jobstart_hccl.json", "hccl.json"};

/// A file that the job waits for.
struct Input {
  std::string what;  ///< name in messages: "rank table"
  /// Relative to the directory where muster was started. A rank table may be given by its directory.
  std::string path;
  std::string field;           ///< name in the file's JSON object; empty: any content will do
  std::string wanted;          ///< value that the field must have
  bool is_rank_table = false;  ///< the file must be a complete rank table; `field` is not used
  JudgeTable judge = {};       ///< for a rank table; empty: any content will do
};

/// Returns the inputs of a job: those of its template whose parameters have a value. `judge` is for its rank table.
std::vector<Input> find_inputs(const ChosenMode& chosen, const Cluster& cluster, const Snapshot& snapshot,
                               const JudgeTable& judge = {});

/// The input's name for messages: "rank table '/x'". The path is escaped and shortened for the console.
std::string name_of(const Input& input);

/// Judges the content. Pure. A JSON object without the field is complete, as rank tables of version 2.0 are.
Answer judge(const Input& input, FileContent found);

/// Reads the file in its present state. Does not wait for a pipe or a device.
FileContent read_input_file(const Input& input);

/// Reads a pipe or a device to its end, and blocks until then.
FileContent read_stream(const std::string& path);

/// Reads the file from the snapshot, otherwise from the disk.
FileContent read_input_file(const Input& input, const Snapshot& snapshot);

/// A text that changes when one of the files was written or replaced: large files are read only after a change.
std::string fingerprint_of(const std::vector<Input>& inputs);

/// Judges all inputs, read as `read_input_file` does. Returns the first error, otherwise what is missing, otherwise
/// Ready.
Answer poll(const std::vector<Input>& inputs, const Snapshot* snapshot = nullptr);

}  // namespace muster
