#pragma once

#include "base/ranks.hpp"
#include "base/result.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Which of a worker's two streams are meant; the numbers are torchrun's.
enum class Streams {
  None = 0,
  Out = 1,
  Err = 2,
  Both = 3
};

/// Where the lines of one stream go.
struct Destination {
  bool console = true;
  bool file = false;
  bool operator==(const Destination&) const = default;
};

/// What the user says about it, as it is written.
struct SelectionOptions {
  std::optional<Sourced<std::string>> redirects;
  std::optional<Sourced<std::string>> tee;
  std::optional<Sourced<std::string>> local_ranks;  ///< that are shown; empty text: all
  bool has_folder = false;                          ///< a log directory is given
};

/// Decides for each worker and stream whether its lines go to the console, to a file, or both.
/// Without --redirects and --tee, a log directory means both.
class Selection {
 public:
  /// --redirects and --tee take one of 0 to 3 for all, or "rank:value" pairs such as "0:1,11:2" where
  /// ranks that are not named are 0.
  [[nodiscard]] static Result<Selection> read(const SelectionOptions& options);

  [[nodiscard]] Destination out(LocalRank rank) const { return of(rank, Streams::Out); }
  [[nodiscard]] Destination err(LocalRank rank) const { return of(rank, Streams::Err); }
  /// A log directory is given after all.
  void add_folder();
  /// True when some stream goes to a file.
  [[nodiscard]] bool needs_files() const;

 private:
  /// One option: what it says for all, or for each rank that it names.
  struct Choice {
    Streams for_all = Streams::None;
    std::map<int, Streams> by_rank;
    [[nodiscard]] bool covers(LocalRank rank, Streams stream) const;
    [[nodiscard]] bool is_none() const;
  };

  [[nodiscard]] static Result<Choice> read_choice(const Sourced<std::string>& text);
  [[nodiscard]] static Result<std::set<int>> read_filter(const Sourced<std::string>& text);
  [[nodiscard]] Destination of(LocalRank rank, Streams stream) const;

  bool names_streams_ = false;  ///< --redirects or --tee is given
  Choice redirects_;
  Choice tee_;
  std::optional<std::set<int>> console_ranks_;
};

/// What becomes of a name that is not known.
enum class UnknownNames {
  Refused,
  Text  ///< it stays as it is written, as with Python's safe_substitute
};

/// What the user wants each line to begin with, such as "[${role_name}${local_rank}]:". Written as
/// torchrun's: ${name} or $name, and $$ is a dollar sign.
class PrefixTemplate {
 public:
  /// Fails for a name that is not known, if that is refused. The empty text is no template.
  [[nodiscard]] static Result<PrefixTemplate> read(const Sourced<std::string>& text,
                                                   UnknownNames unknown_names = UnknownNames::Refused);

  /// True when there is none: lines begin with the rank.
  [[nodiscard]] bool is_empty() const { return pieces_.empty(); }
  /// True when the name stands in it.
  [[nodiscard]] bool needs(std::string_view name) const;
  /// The text with each name replaced; a name that `values` lacks becomes nothing.
  [[nodiscard]] std::string fill(const std::map<std::string, std::string>& values) const;

 private:
  struct Piece {
    bool is_name = false;
    std::string text;
  };

  std::vector<Piece> pieces_;
};

/// The lines that hold at least one of some texts: torchrun's --duplicate-stdout-filters.
class LineFilter {
 public:
  /// Reads texts separated by commas, where ",," is a comma of a text. The empty value asks for
  /// nothing.
  [[nodiscard]] static Result<LineFilter> read(const Sourced<std::string>& setting);

  /// True when no line is wanted.
  [[nodiscard]] bool is_empty() const { return texts_.empty(); }
  [[nodiscard]] bool matches(std::string_view line) const;

 private:
  std::vector<std::string> texts_;
};

}  // namespace muster
