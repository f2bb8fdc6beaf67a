#pragma once

// How many links the leader keeps with those who do not belong to the job, and which of them go first. Pure.

#include "gang/protocol/roster.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace muster::gang {

/// Out of one budget come links that have not joined, that wait for a seat which is taken, and that linger after
/// the last word. Each comes from a *neighbourhood*: an address, or the half of one of version 6 that its owner may fill.
/// Those that have come last have not had the time to speak yet: they are kept as if they had.
class LinkBudget {
 public:
  /// What a link has shown. Who has shown less goes sooner.
  enum class Trust {
    None,          ///< it has sent nothing
    Active,        ///< it has sent something
    Authenticated  ///< it has the job's key
  };

  explicit LinkBudget(std::size_t most);

  void add(LinkId link, const std::string& source_prefix, Trust trust);
  /// The link has shown more than before.
  void raise(LinkId link, Trust trust);
  /// It is closed, or belongs to the job. Does nothing if it is not in the budget.
  void remove(LinkId link);
  [[nodiscard]] bool contains(LinkId link) const { return links_.contains(link); }
  [[nodiscard]] std::size_t size() const { return links_.size(); }

  /// A node of the job has a link from there: one more of its links is as good as known.
  void note_member(const std::string& source_prefix);
  void forget_member(const std::string& source_prefix);

  /// Who has to go for the others; empty: there is room for all. First it is who has least to show of the neighbourhood
  /// that has most links, if that is more than its share, else of all that are not known; among equals the oldest.
  [[nodiscard]] std::optional<LinkId> excess() const;

 private:
  struct Entry {
    std::string source_prefix;
    Trust trust;
    bool is_new = true;  ///< it is one of those that have come last
  };
  using Rank = std::pair<Trust, LinkId>;
  struct SourcePrefix {
    std::set<Rank> links;     ///< the first one goes first
    std::size_t members = 0;  ///< links to nodes of the job
  };
  /// In which order neighbourhoods give up links: the smallest first.
  using Turn = std::tuple<bool, std::ptrdiff_t, bool, Rank, std::string>;

  [[nodiscard]] Turn turn_of(const std::string& name, const SourcePrefix& source_prefix) const;
  [[nodiscard]] static Rank rank_of(LinkId link, const Entry& entry);
  /// Where another link has come, one that came before the last ones is no longer new.
  void age();
  /// Changes a link, and with it its rank.
  template <typename Change>
  void change(LinkId link, Entry& entry, const Change& change);
  /// Changes a neighbourhood and its turn.
  template <typename Change>
  void update(const std::string& name, const Change& change);

  std::size_t most_;
  std::size_t share_;  ///< of one neighbourhood
  std::deque<LinkId>
      newest_;  ///< at most half of `most_`, the oldest first; some may have been removed
  std::map<std::string, SourcePrefix> neighbourhoods_;
  std::set<Turn> turns_;
  std::unordered_map<LinkId, Entry> links_;
};

}  // namespace muster::gang
