#pragma once

// How many links the leader keeps with those who do not belong to the job, and which of them go first. Pure.

#include "gang/protocol/fence.hpp"
#include "gang/protocol/roster.hpp"

#include <chrono>
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
  std::size_t share_;          ///< of one neighbourhood
  std::deque<LinkId> newest_;  ///< at most half of `most_`, the oldest first; some may have been removed
  std::map<std::string, SourcePrefix> source_prefixes_;
  std::set<Turn> turns_;
  std::unordered_map<LinkId, Entry> links_;
};

// What the leader says about connections that come to nothing: a few one by one, then their number. Pure.

/// A flood must not fill the log, nor must a probe that connects every few seconds.
class RejectedConnectionLog {
 public:
  /// Counts one. Returns what to say at once, such as "refused a connection from 10.0.0.7: it closed the
  /// connection"; empty: that has been said, or enough like it.
  [[nodiscard]] std::string note(const std::string& address, const std::string& why, Instant now);
  /// Counts one of which something else is said, or nothing.
  void count(const std::string& address, Instant now);

  /// When the numbers are due.
  [[nodiscard]] std::optional<Instant> next_wake() const { return until_; }
  /// What came since the first one, "refused 48,211 connections from 1 address (10.0.0.7) in 30 s"; empty: too few for a
  /// line. It begins anew with the next one, and takes longer as long as there is always something to say.
  [[nodiscard]] std::string summary(Instant now);

 private:
  [[nodiscard]] std::string describe(Instant now) const;

  std::set<std::string> named_;                   ///< addresses with reasons
  std::map<std::string, std::size_t> by_reason_;  ///< how many of them
  std::chrono::seconds span_{30};
  Instant since_;
  std::optional<Instant> until_;  ///< empty: nothing has come
  std::size_t refused_ = 0;
  std::map<std::string, std::size_t> by_address_;  ///< of the first that came
};

}  // namespace muster::gang
