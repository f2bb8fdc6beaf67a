#pragma once

// Reads the options that select a line's destination, its prefix and its second copy. Pure.

#include "base/ranks.hpp"
#include "base/result.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// A set of a worker's two streams; the numbers are torchrun's.
enum class Streams {
  None = 0,
  Out = 1,
  Err = 2,
  Both = 3
};

/// Destinations of the lines of one stream.
struct Destination {
  bool console = true;
  bool file = false;
  bool operator==(const Destination&) const = default;
};

/// The options as the user wrote them.
struct SelectionOptions {
  std::optional<Sourced<std::string>> redirects;
  std::optional<Sourced<std::string>> tee;
  std::optional<Sourced<std::string>> local_ranks;  ///< ranks that are shown; empty text: all
  bool has_folder = false;                          ///< a log directory is given
};

/// Decides for each worker and stream whether its lines go to the console, to a file, or both.
/// Without --redirects and --tee, a log directory means both.
class Selection {
 public:
  /// --redirects and --tee take one of 0 to 3 for all ranks, or "rank:value" pairs such as "0:1,11:2"; ranks that are
  /// not named are 0.
  [[nodiscard]] static Result<Selection> read(const SelectionOptions& options);

  Destination out(LocalRank rank) const { return of(rank, Streams::Out); }
  Destination err(LocalRank rank) const { return of(rank, Streams::Err); }
  /// Adds a log directory later.
  void add_folder();
  /// True when some stream goes to a file.
  bool needs_files() const;

 private:
  /// One option: its value for all ranks, or for each rank that it names.
  struct Choice {
    Streams for_all = Streams::None;
    std::map<int, Streams> by_rank;
    bool covers(LocalRank rank, Streams stream) const;
    bool is_none() const;
  };

  [[nodiscard]] static Result<Choice> read_choice(const Sourced<std::string>& text);
  [[nodiscard]] static Result<std::set<int>> read_filter(const Sourced<std::string>& text);
  Destination of(LocalRank rank, Streams stream) const;

  bool names_streams_ = false;  ///< --redirects or --tee is given
  Choice redirects_;
  Choice tee_;
  std::optional<std::set<int>> console_ranks_;
};

/// Treatment of unknown names in a template.
enum class UnknownNames {
  Refused,
  Text  ///< kept as it is written, as by Python's safe_substitute
};

/// The text that each line begins with, such as "[${role_name}${local_rank}]:". The syntax is torchrun's: ${name} or
/// $name, and $$ for a dollar sign.
class PrefixTemplate {
 public:
  /// Fails for an unknown name if `unknown_names` is Refused. The empty text means no template.
  [[nodiscard]] static Result<PrefixTemplate> read(const Sourced<std::string>& text,
                                                   UnknownNames unknown_names = UnknownNames::Refused);

  /// True when there is no template: lines begin with the rank.
  bool is_empty() const { return pieces_.empty(); }
  /// True when the template contains the name.
  bool needs(std::string_view name) const;
  /// The text with each name replaced; a name that `values` lacks becomes empty.
  std::string fill(const std::map<std::string, std::string>& values) const;

 private:
  struct Piece {
    bool is_name = false;
    std::string text;
  };

  std::vector<Piece> pieces_;
};

/// Matches lines that contain at least one of several texts: torchrun's --duplicate-stdout-filters.
class LineFilter {
 public:
  /// Reads texts separated by commas; ",," is a literal comma. An empty value selects nothing.
  [[nodiscard]] static Result<LineFilter> read(const Sourced<std::string>& setting);

  /// True when no line is selected.
  bool is_empty() const { return texts_.empty(); }
  bool matches(std::string_view line) const;

 private:
  std::vector<std::string> texts_;
};

}  // namespace muster
