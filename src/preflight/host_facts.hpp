#pragma once

// The facts of a node that are compared with those of the others: their table, their values, and the line in which a
// node tells them. Pure; docs/preflight.md has the table for users.

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace muster::preflight {

/// Comparison of a fact between nodes. A node is the same as the others if it has:
enum class Compare {
  Equal,   ///< an equal text; a node without one has "none"
  Amount,  ///< a number not below the median: more does no harm
  Floor,   ///< a number not below a fixed value
  Clock,   ///< nearly the same time on its clock
  Set      ///< ports and devices, each a text by name; names may differ, and more do no harm
};

/// Consequence of a difference for the node.
enum class Weight {
  Beside,  ///< only named if the node differs in another fact, too: healthy nodes have it
  Told,
  Fatal  ///< --preflight strict leaves the node out
};

enum class Unit {
  None,
  Bytes
};

/// A row of the table. A new fact is a row here, and a reader in read_facts.cpp.
struct FactRow {
  std::string_view name;
  Compare compare = Compare::Equal;
  double tolerance = 0;  ///< Amount: share of the median; Floor: the value; Clock: seconds
  Unit unit = Unit::None;
  Weight weight = Weight::Told;
  double enough = std::numeric_limits<double>::infinity();  ///< Amount: more than this is never needed
  std::string_view enough_beside{};                         ///< Amount: nor is more than this fact of the same node
  bool is_of_machine = false;                               ///< another kind of machine has another value
  bool is_kind = false;                                     ///< its value shows which kind of machine it is
  bool may_lack = false;                                    ///< healthy nodes may have no value: they are not compared
};

std::span<const FactRow> fact_rows();

/// A number of this row as text: "63.8 GiB", "1048576", "no limit".
std::string describe_number(const FactRow& row, double number);

/// "0.90"
std::string two_decimals(double number);

/// The number that stands for "no limit".
inline constexpr double kNoLimit = 1e18;

/// The text of a fact whose value the node cannot find out. It is not compared.
inline constexpr std::string_view kNotKnown = "not known";

/// The facts of one node, by the names of their rows. A set that is missing is not known.
struct Facts {
  using Set = std::map<std::string, std::string>;

  std::map<std::string_view, std::string> texts;
  std::map<std::string_view, double> numbers;
  std::map<std::string_view, Set> sets;

  bool is_empty() const { return texts.empty() && numbers.empty() && sets.empty(); }
};

/// Limits in bytes: of a node's line, of a text, and of a name in a set. A set with too many entries is left out.
inline constexpr std::size_t kMostLineBytes = 4'096;
inline constexpr std::size_t kMostTextBytes = 64;
inline constexpr std::size_t kMostNameBytes = 32;
inline constexpr std::size_t kMostEntries = 64;

/// Writes the facts as a line of JSON within its limit. Sets that do not fit are left out.
std::string to_line(const Facts& facts);

/// Reads a line that anybody may have sent: what is unknown, too long or of another type is left out, and texts become
/// visible characters on one line. Facts of a line that is too long, or no JSON, are empty.
Facts parse_facts(std::string_view line);

/// The fact as one text for people: "8 NVIDIA H100", "503.6 GiB", "mlx5_0 400 Gb/s, mlx5_1 down". Empty: not known.
std::string describe_fact(const FactRow& row, const Facts& facts);

}  // namespace muster::preflight
