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

/// Comparison of the nodes' values.
enum class Compare {
  Equal,   ///< texts are equal; a node without one has "none"
  Amount,  ///< numbers are not below their median: more than the others have does no harm
  Floor,   ///< numbers are not below a value
  Clock,   ///< numbers are the time on a node's clock
  Set      ///< texts by names: ports and devices, which nodes may name differently; more do no harm
};

/// Consequence of a difference.
enum class Weight {
  Beside,  ///< healthy nodes have it: it is told beside another difference of the node
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
  double enough = std::numeric_limits<double>::infinity();  ///< Amount: no job needs more
  std::string_view enough_beside{};                         ///< Amount: nor more than this fact of the node has
  bool is_of_machine = false;                               ///< another kind of machine has another value
  bool is_kind = false;                                     ///< its value tells which kind of machine it is
  bool may_lack = false;                                    ///< healthy nodes may have no value: they are not compared
};

std::span<const FactRow> fact_rows();

/// For a row of numbers: "63.8 GiB", "1048576", "no limit".
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

/// Limits in bytes: of the line of a node, of a text, and of a name in a set. A set with more entries is not told.
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
