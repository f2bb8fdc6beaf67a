// Reads both forms of NCCL's answer. In the text a communicator's ranks that are not listed have the count of most.
#include "hang/nccl_ras.hpp"

#include "base/json.hpp"
#include "base/text.hpp"
#include "hang/json_fields.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace muster::hang {
namespace {

constexpr int kMostRasRanks = 65'535;
/// Of all communicators of an answer.
constexpr std::size_t kMostMembers = std::size_t{1} << 17U;
/// Counts of members by the type of collective. NCCL has five types, and a line that begins one is short.
constexpr std::size_t kMostCounts = 16 * kMostMembers;

// --- JSON ---------------------------------------------------------------------------------------

int rank_at(const json::object& object, std::string_view name) {
  const std::int64_t number = number_of<std::int64_t>(object.if_contains(name), -1);
  return number < 0 || number > kMostRasRanks ? -1 : static_cast<int>(number);
}

json::object object_at(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value != nullptr && value->is_object() ? value->get_object() : json::object();
}

RasProcess process_of(const json::object& rank) {
  const std::int64_t pid = number_of<std::int64_t>(rank.if_contains("pid"), -1);
  return pid > 0 && pid <= 0x7fff'ffff ? RasProcess{line_of(rank, "host"), static_cast<pid_t>(pid)} : RasProcess();
}

std::int64_t count_launched(const json::object& counts) {
  constexpr std::int64_t kMost = std::int64_t{1} << 48U;
  std::int64_t launched = counts.empty() ? -1 : 0;
  for (const auto& type : counts) {
    const std::int64_t* const count = type.value().if_int64();
    if (count == nullptr || *count < 0 || *count > kMost || launched > kMost) {
      return -1;
    }
    launched += *count;
  }
  return launched;
}

RasCommunicator read_communicator(const json::object& object) {
  RasCommunicator read{
      line_of(object, "hash") + ":" + line_of(object, "secondary_hash"), rank_at(object, "size"), {}, {}};
  for_each_object(array_of(object, "ranks"), [&](const json::object& rank) {
    read.ranks.push_back(
        {rank_at(rank, "rank"), process_of(rank), count_launched(object_at(rank, "collective_counts"))});
  });
  for_each_object(array_of(object, "missing_ranks"), [&](const json::object& rank) {
    read.missing.push_back({.rank = rank_at(rank, "rank"), .process = process_of(rank)});
  });
  std::erase_if(read.ranks, [&](const RasRank& rank) { return rank.rank < 0 || rank.rank >= read.size; });
  std::erase_if(read.missing, [&](const RasRank& rank) { return rank.rank < 0 || rank.rank >= read.size; });
  return read;
}

/// NCCL 2.28 writes no comma before the "status" of a missing rank.
std::string with_commas(std::string_view text) {
  constexpr std::string_view kStatus = "\"status\"";
  std::string whole;
  std::size_t done = 0;
  for (std::size_t at = text.find(kStatus); at != std::string_view::npos; at = text.find(kStatus, at + 1)) {
    const std::size_t before = text.substr(done, at - done).find_last_not_of(" \n");
    if (before != std::string_view::npos && text[done + before] >= '0' && text[done + before] <= '9') {
      whole.append(text.substr(done, before + 1)).append(",");
      done += before + 1;
    }
  }
  return whole.append(text.substr(done));
}

std::vector<RasCommunicator> read_json(std::string_view text) {
  boost::system::error_code error;
  const json::value document = json::parse(with_commas(text), error);
  std::vector<RasCommunicator> read;
  if (!error && document.is_object()) {
    for_each_object(array_of(document.get_object(), "communicators"),
                    [&](const json::object& object) { read.push_back(read_communicator(object)); });
  }
  return read;
}

// --- Text ---------------------------------------------------------------------------------------

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words = split(line, ' ');
  std::erase(words, "");
  return words;
}

/// The word behind `name`; empty: there is none.
std::string word_after(const std::vector<std::string>& words, std::string_view name) {
  const auto found = std::ranges::find(words, name);
  return found == words.end() || found + 1 == words.end() ? "" : *(found + 1);
}

std::optional<int> rank_of(const std::string& word) {
  return parse_integer(word, 0, kMostRasRanks);
}

/// "... managed by process 4711 on node 10.0.0.1"
RasProcess process_of(const std::vector<std::string>& words) {
  const auto pid = parse_integer(word_after(words, "process"), 1, 0x7fff'ffff);
  return pid ? RasProcess{one_line(word_after(words, "node"), kMostTextBytes), *pid} : RasProcess();
}

/// "7 ranks have launched up to operation 64", "Rank 3 has not launched any operations -- ...": the count. Empty: the
/// line says none.
std::optional<std::int64_t> launched_of(const std::vector<std::string>& words) {
  if (word_after(words, "not") == "launched") {
    return 0;
  }
  return word_after(words, "launched") == "up" ? parse_integer(word_after(words, "operation"), 0, 0x7fff'ffff)
                                               : std::nullopt;
}

class TextReader {
 public:
  void read(std::string_view line);
  std::vector<RasCommunicator> take();

 private:
  /// Ranks that have launched equally many collectives of one type.
  struct Alike {
    int count = 0;
    std::int64_t launched = 0;
    bool is_listed = false;
  };

  void begin_section(const std::vector<std::string>& words);
  void read_rank(const std::vector<std::string>& words);
  void end_type();

  std::map<int, int> sizes_;  ///< of the communicators, by the number of their group
  std::map<std::string, std::size_t> places_;
  std::vector<RasCommunicator> read_;
  std::size_t members_ = 0;
  std::size_t counts_ = 0;
  RasCommunicator* current_ = nullptr;  ///< of the section
  bool is_incomplete_ = false;          ///< the section lists ranks that are missing
  bool is_counting_ = false;            ///< the lines are about the counts of one type of collectives
  std::vector<Alike> alike_;
  std::map<int, std::int64_t> listed_;  ///< counts by rank
};

/// "#0-1 (27a079b828ff1a75) MISMATCH": the second communicator of group 0.
void TextReader::begin_section(const std::vector<std::string>& words) {
  end_type();
  current_ = nullptr;
  const auto group = rank_of(words.front().substr(1, words.front().find('-') - 1));
  const auto size = sizes_.find(group.value_or(-1));
  const auto members = static_cast<std::size_t>(size == sizes_.end() ? 0 : size->second);
  const auto [place, is_new] = places_.try_emplace(words.front(), read_.size());
  if (is_new && (members == 0 || members_ + members > kMostMembers)) {
    places_.erase(place);
    return;
  }
  if (is_new) {
    const std::string hash = words.at(1).substr(1, words.at(1).size() - 2);
    read_.push_back({one_line("0x" + hash.substr(std::min(hash.find_first_not_of('0'), hash.size())), kMostTextBytes),
                     size->second,
                     std::vector<RasRank>(members),
                     {}});
    for (int rank = 0; RasRank & one : read_.back().ranks) {
      one.rank = rank++;
      one.launched = 0;
    }
    members_ += members;
  }
  current_ = &read_[place->second];
  is_incomplete_ = words.at(2) == "INCOMPLETE";
}

void TextReader::read_rank(const std::vector<std::string>& words) {
  const auto rank = rank_of(words.at(1));
  if (current_ == nullptr || !rank || *rank >= current_->size) {
    return;
  }
  if (is_incomplete_) {
    if (current_->missing.size() < current_->ranks.size()) {
      current_->missing.push_back({.rank = *rank, .process = process_of(words)});
    }
    return;
  }
  const auto launched = launched_of(words);
  if (!is_counting_ || (!launched && alike_.empty())) {
    return;
  }
  if (!launched) {
    alike_.back().is_listed = true;
  }
  listed_[*rank] = launched ? *launched : alike_.back().launched;
  current_->ranks[static_cast<std::size_t>(*rank)].process = process_of(words);
}

/// Adds the counts of one type. Ranks that are not listed are those of the only group that is not.
void TextReader::end_type() {
  if (std::exchange(is_counting_, false)) {
    const auto is_unlisted = [](const Alike& alike) { return !alike.is_listed; };
    const auto most = std::ranges::find_if(alike_, is_unlisted);
    const bool is_known =
        std::ranges::count_if(alike_, is_unlisted) == 1 &&
        static_cast<std::size_t>(most->count) + listed_.size() + current_->missing.size() == current_->ranks.size();
    for (RasRank& rank : current_->ranks) {
      const auto listed = listed_.find(rank.rank);
      const std::int64_t launched = listed != listed_.end() ? listed->second : (is_known ? most->launched : -1);
      rank.launched = rank.launched < 0 || launched < 0 ? -1 : rank.launched + launched;
    }
  }
  alike_.clear();
  listed_.clear();
}

void TextReader::read(std::string_view line) {
  constexpr std::size_t kWordsOfRow = 8;  // of the table of groups
  const std::vector<std::string> words = words_of(line);
  if (words.size() == 3 && words.front().starts_with('#') && words.at(1).size() > 2) {
    begin_section(words);
  } else if (words.size() == kWordsOfRow && rank_of(words.at(0)) && rank_of(words.at(1)) && rank_of(words.at(4))) {
    sizes_[*rank_of(words.at(0))] = *rank_of(words.at(4));
  } else if (words.empty() || words.front() == "Communicator") {
    end_type();
    is_counting_ =
        current_ != nullptr && !is_incomplete_ && counts_ < kMostCounts && word_after(words, "operation") == "counts";
    counts_ += is_counting_ ? current_->ranks.size() : 0;
  } else if (words.size() > 2 && words.front() == "Rank") {
    read_rank(words);
  } else if (words.size() > 2 && words.at(1) == "ranks" && is_counting_) {
    const auto launched = launched_of(words);
    const auto count = rank_of(words.front());
    if (launched && count) {
      alike_.push_back({*count, *launched});
    }
  }
}

std::vector<RasCommunicator> TextReader::take() {
  end_type();
  if (counts_ >= kMostCounts) {
    return {};  // some were left out
  }
  for (RasCommunicator& communicator : read_) {
    std::vector<bool> is_missing(communicator.ranks.size());
    for (const RasRank& missing : communicator.missing) {
      is_missing[static_cast<std::size_t>(missing.rank)] = true;
    }
    std::erase_if(communicator.ranks,
                  [&](const RasRank& rank) { return is_missing[static_cast<std::size_t>(rank.rank)]; });
  }
  return std::move(read_);
}

}  // namespace

std::vector<RasCommunicator> parse_ras(std::string_view answer) {
  TextReader text;
  while (!answer.empty()) {
    if (answer.front() == '{') {
      return read_json(answer);
    }
    const std::size_t end = std::min(answer.find('\n'), answer.size());
    text.read(answer.substr(0, end));
    answer.remove_prefix(std::min(end + 1, answer.size()));
  }
  return text.take();
}

// --- Global ranks -------------------------------------------------------------------------------

namespace {

using RanksByProcess = std::map<RasProcess, int>;

/// Empty: no communicator has all ranks, or a process has several, which are no ranks of the job then.
RanksByProcess find_ranks(const std::vector<RasCommunicator>& communicators, int world_size) {
  const auto world = std::ranges::find(communicators, world_size, &RasCommunicator::size);
  RanksByProcess ranks;
  if (world == communicators.end()) {
    return ranks;
  }
  bool is_unique = true;
  const auto add = [&](const auto& rank) {
    is_unique = (rank.process.pid < 0 || ranks.emplace(rank.process, rank.rank).second) && is_unique;
  };
  std::ranges::for_each(world->ranks, add);
  std::ranges::for_each(world->missing, add);
  return is_unique ? ranks : RanksByProcess();
}

/// A communicator by global ranks.
struct RankedGroup {
  const RasCommunicator* communicator = nullptr;
  std::vector<int> ranks;
  std::map<int, const RasRank*> known;  ///< those whose count is known
  bool is_even = true;                  ///< no rank differs from the others
};

RankedGroup rank_group(const RasCommunicator& communicator, const RanksByProcess& by_process, int world_size) {
  RankedGroup group{&communicator, {}, {}, communicator.missing.empty()};
  const auto add = [&](const auto& rank) {
    const auto found = by_process.find(rank.process);
    const int unnamed = communicator.size == world_size && rank.process.pid < 0 ? rank.rank : -1;
    const int global = found == by_process.end() ? unnamed : found->second;
    if (global >= 0) {
      group.ranks.push_back(global);
    }
    return global;
  };
  for (const RasRank& rank : communicator.ranks) {
    const int global = add(rank);
    if (global >= 0 && rank.launched >= 0) {
      group.is_even = group.is_even && (group.known.empty() || group.known.begin()->second->launched == rank.launched);
      group.known[global] = &rank;
    }
  }
  std::ranges::for_each(communicator.missing, add);
  std::ranges::sort(group.ranks);
  group.ranks.erase(std::unique(group.ranks.begin(), group.ranks.end()), group.ranks.end());
  return group;
}

/// Leaves out ranks that are like most others.
void thin_out(std::map<int, const RasRank*>& known) {
  constexpr int kMostAlike = 256;
  std::map<std::int64_t, int> counts;
  for (const auto& [global, rank] : known) {
    ++counts[rank->launched];
  }
  const auto most = std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
  int alike = 0;
  std::erase_if(known, [&](const auto& one) { return one.second->launched == most->first && ++alike > kMostAlike; });
}

}  // namespace

std::vector<RankProgress> to_progress(const std::vector<RasCommunicator>& communicators, int world_size) {
  std::size_t numbers_left = kMostNumbers;
  const RanksByProcess by_process = find_ranks(communicators, world_size);
  std::vector<RankedGroup> groups;
  groups.reserve(communicators.size());
  for (const RasCommunicator& communicator : communicators) {
    groups.push_back(rank_group(communicator, by_process, world_size));
  }
  std::stable_partition(groups.begin(), groups.end(), [](const RankedGroup& group) { return !group.is_even; });
  std::map<int, RankProgress> progress;
  for (RankedGroup& group : groups) {
    thin_out(group.known);
    const std::size_t numbers = group.known.size() * group.ranks.size();
    if (group.ranks.size() < 2 || numbers > numbers_left) {
      continue;
    }
    numbers_left -= numbers;
    const std::string& id = group.communicator->id;
    const std::string description = "NCCL communicator " + id.substr(0, id.find(':'));
    for (const auto& [global, rank] : group.known) {
      RankProgress& one = progress[global];
      one.rank = global;
      one.groups.push_back({"nccl " + id, description, group.ranks, rank->launched, -1, ""});
    }
  }
  return list_of(progress);
}

}  // namespace muster::hang
