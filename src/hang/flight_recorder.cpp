// Joins the three parts of a dump: groups by name, numbers by the process's own ids, and entries, which have both.
#include "hang/flight_recorder.hpp"

#include "base/text.hpp"
#include "hang/pickle.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <utility>

namespace muster::hang {
namespace {

constexpr std::size_t kMostGroups = 1'000;
constexpr std::size_t kMostEntries = 100'000;
constexpr std::size_t kMostFields = 100;  ///< of an entry, which has about 20
constexpr std::size_t kMostLabelBytes = 100;
constexpr std::size_t kMostRanks = 100'000;
constexpr std::size_t kMostRanksBytes = 8 * kMostRanks;

std::string name_of(const PickleValue& value) {
  return one_line(value.text, kMostLabelBytes);
}

/// Reads "[0, 4, 8]"; only the beginning of a text that is longer than any list of ranks.
std::vector<int> read_ranks(std::string_view text) {
  std::vector<int> ranks;
  const char* const end = text.data() + std::min(text.size(), kMostRanksBytes);
  for (const char* at = text.data(); at != end && ranks.size() < kMostRanks;) {
    int rank = 0;
    const auto [next, error] = std::from_chars(at, end, rank);
    if (error == std::errc() && rank >= 0) {
      ranks.push_back(rank);
    }
    at = next == at ? at + 1 : next;
  }
  std::ranges::sort(ranks);
  return ranks;
}

class Dump {
 public:
  explicit Dump(Pickle pickle) : pickle_(std::move(pickle)) {}

  Result<std::vector<GroupProgress>> read() {
    const std::string version = name_of(pickle_.at(pickle_.root(), "version"));
    const PickleValue status = pickle_.at(pickle_.root(), "pg_status");
    if (!version.starts_with("2.") || status.kind != PickleValue::Kind::Dictionary) {
      return Error{ErrorKind::BadData, "the flight recorder's dump has version '" + version +
                                           "', 2.4 or a later 2.x with the state of its groups was expected"};
    }
    read_status(status);
    read_entries();
    return join();
  }

 private:
  struct Progress {
    GroupProgress numbers;
    bool has_entries = false;
    bool is_compared = true;
  };

  std::int64_t number_at(const PickleValue& dictionary, std::string_view key) const {
    return std::max<std::int64_t>(pickle_.at(dictionary, key).number, 0);
  }

  /// False for a dictionary that would take long to search: it may occur thousands of times.
  bool is_small(const PickleValue& dictionary) const { return pickle_.items(dictionary).size() <= 2 * kMostFields; }

  void read_status(const PickleValue& status) {
    const auto& pairs = pickle_.items(status);
    for (std::size_t i = 0; i + 1 < std::min(pairs.size(), 2 * kMostGroups); i += 2) {
      if (!is_small(pairs[i + 1])) {
        continue;
      }
      std::int64_t id = -1;
      (void)std::from_chars(pairs[i].text.data(), pairs[i].text.data() + pairs[i].text.size(), id);
      GroupProgress& numbers = by_id_[id].numbers;
      numbers.enqueued = number_at(pairs[i + 1], "last_enqueued_collective");
      numbers.completed = number_at(pairs[i + 1], "last_completed_collective");
    }
  }

  void read_entries() {
    const auto& entries = pickle_.items(pickle_.at(pickle_.root(), "entries"));
    for (std::size_t i = 0; i < std::min(entries.size(), kMostEntries); ++i) {
      if (entries[i].kind == PickleValue::Kind::Dictionary && is_small(entries[i])) {
        read_entry(entries[i]);
      }
    }
  }

  /// An entry names its group by the process's own id, and as (name, description).
  void read_entry(const PickleValue& entry) {
    const auto found = by_id_.find(pickle_.at(entry, "pg_id").number);
    const auto& name = pickle_.items(pickle_.at(entry, "process_group"));
    if (found == by_id_.end() || name.size() != 2) {
      return;
    }
    Progress& progress = found->second;
    if (!std::exchange(progress.has_entries, true)) {
      progress.numbers.group = name_of(name[0]);
      progress.numbers.description = name_of(name[1]) == "undefined" ? "" : name_of(name[1]);
    }
    if (pickle_.at(entry, "is_p2p").number != 0) {
      progress.is_compared = false;
    } else if (pickle_.at(entry, "collective_seq_id").number == progress.numbers.completed + 1) {
      const std::string operation = name_of(pickle_.at(entry, "profiling_name"));  // such as "nccl:all_gather"
      progress.numbers.operation = operation.substr(operation.find(':') + 1);
    }
  }

  /// Joins what is known of each group. A group that had no collective yet has only a configuration.
  std::vector<GroupProgress> join() {
    const auto& pairs = pickle_.items(pickle_.at(pickle_.root(), "pg_config"));
    const bool is_complete = std::ranges::all_of(by_id_, [](const auto& one) { return one.second.has_entries; });
    std::map<std::string, GroupProgress> unused;
    std::map<std::string, std::string_view> ranks;
    for (std::size_t i = 0; i + 1 < std::min(pairs.size(), 2 * kMostGroups); i += 2) {
      const std::string name = name_of(pairs[i]);
      if (!is_small(pairs[i + 1])) {
        continue;
      }
      ranks[name] = pickle_.at(pairs[i + 1], "ranks").text;
      if (is_complete && !name.empty()) {
        unused[name] = {name, name_of(pickle_.at(pairs[i + 1], "desc")), {}, 0, 0, ""};
      }
    }
    std::vector<GroupProgress> groups;
    for (auto& [id, progress] : by_id_) {
      if (progress.has_entries) {
        unused.erase(progress.numbers.group);
        progress.numbers.ranks = take_ranks(ranks[progress.numbers.group]);
        progress.numbers.group = progress.is_compared ? progress.numbers.group : "";
        groups.push_back(std::move(progress.numbers));
      }
    }
    for (auto& [name, group] : unused) {
      group.ranks = take_ranks(ranks[name]);
      groups.push_back(std::move(group));
    }
    return groups;
  }

  /// Reads the ranks of a group; none if earlier groups have too many. Reads a text that groups share only once.
  std::vector<int> take_ranks(std::string_view text) {
    const auto [read, is_new] = ranks_by_text_.try_emplace(text.data());
    if (is_new) {
      read->second = read_ranks(text);
    }
    const std::size_t numbers = read->second.size();
    if (numbers > numbers_left_) {
      return {};
    }
    numbers_left_ -= numbers;
    return read->second;
  }

  Pickle pickle_;
  std::map<const char*, std::vector<int>> ranks_by_text_;
  std::size_t numbers_left_ = kMostNumbers;
  std::map<std::int64_t, Progress> by_id_;
};

}  // namespace

Result<std::vector<GroupProgress>> read_flight_recorder(std::string_view dump) {
  return Dump(TRY(Pickle::read(dump))).read();
}

}  // namespace muster::hang
