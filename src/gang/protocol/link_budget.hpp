#pragma once

// Decides how many links the leader keeps for peers outside the job, and which of them it closes first. Pure.

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

/// Budget for links that have not joined, that wait for a taken seat, or that close after the last message. Links are
/// grouped by *source prefix*: an IPv4 address, or the first 64 bits of an IPv6 one. The newest links count as
/// active, because they have not had the time to send anything.
class LinkBudget {
 public:
  /// Trust in a link by what it has sent. Less trusted links are closed first.
  enum class Trust {
    None,          ///< has sent nothing
    Active,        ///< has sent something
    Authenticated  ///< has proved that it has the job's key
  };

  explicit LinkBudget(std::size_t most);

  void add(LinkId link, const std::string& source_prefix, Trust trust);
  /// The link has earned more trust.
  void raise(LinkId link, Trust trust);
  /// The link is closed, or joined the job. Does nothing for an unknown link.
  void remove(LinkId link);
  bool contains(LinkId link) const { return links_.contains(link); }
  std::size_t size() const { return links_.size(); }

  /// Notes that a node of the job has a link from this prefix: one more link from there counts as known.
  void note_member(const std::string& source_prefix);
  void forget_member(const std::string& source_prefix);

  /// Returns the link to close; empty: the budget suffices. If a prefix has more links than its share, chooses among
  /// those of the largest one, otherwise among links that are not known: the least trusted, then the oldest.
  std::optional<LinkId> excess() const;

 private:
  struct Entry {
    std::string source_prefix;
    Trust trust;
    bool is_new = true;  ///< one of the newest links
  };
  using Rank = std::pair<Trust, LinkId>;
  struct SourcePrefix {
    std::set<Rank> links;     ///< the first one is closed first
    std::size_t members = 0;  ///< links to nodes of the job
  };
  /// Order in which prefixes give up links: the smallest first.
  using Turn = std::tuple<bool, std::ptrdiff_t, bool, Rank, std::string>;

  Turn turn_of(const std::string& name, const SourcePrefix& source_prefix) const;
  static Rank rank_of(LinkId link, const Entry& entry);
  /// Makes the oldest of the newest links an ordinary one, because another link has come.
  void age();
  /// Changes a link and its rank.
  void change_link(LinkId link, Entry& entry, const auto& change);
  /// Changes a source prefix and its turn.
  void update(const std::string& name, const auto& change);

  std::size_t most_;
  std::size_t share_;          ///< of one source prefix
  std::deque<LinkId> newest_;  ///< at most half of `most_`, the oldest first; some may be closed
  std::map<std::string, SourcePrefix> source_prefixes_;
  std::set<Turn> turns_;
  std::unordered_map<LinkId, Entry> links_;
};

// Logs rejected connections: a few one by one, then their number. Pure.

/// Limits the lines about rejected connections: a flood, or a probe every few seconds, must not fill the log.
class RejectedConnectionLog {
 public:
  /// Counts a rejected connection. Returns what to log at once, such as "refused a connection from 10.0.0.7: it
  /// closed the connection"; empty: that, or enough of its kind, has been logged.
  std::string note(const std::string& address, const std::string& why, Instant now);
  /// Counts a rejected connection for the summary only: it gets no line of its own.
  void count(const std::string& address, Instant now);

  /// When the summary is due.
  std::optional<Instant> next_wake() const { return until_; }
  /// Returns the counts of the current span, "refused 48,211 connections from 1 address (10.0.0.7) in 30 s"; empty:
  /// they are too few for a line. The next connection opens a new span, which is longer if this one had a line.
  std::string summary(Instant now);

 private:
  std::string describe(Instant now) const;

  std::set<std::string> named_;                   ///< addresses with reasons, of which a line was logged
  std::map<std::string, std::size_t> by_reason_;  ///< number of addresses that were logged for each reason
  std::chrono::seconds span_{30};
  Instant since_;
  std::optional<Instant> until_;  ///< empty: no connection was counted
  std::size_t refused_ = 0;
  std::map<std::string, std::size_t> by_address_;  ///< count of each address, for the first addresses
};

}  // namespace muster::gang
