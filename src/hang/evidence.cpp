// Groups ranks by their place, and writes and reads the groups as JSON.
#include "hang/evidence.hpp"

#include "base/ranks.hpp"
#include "base/text.hpp"
#include "hang/json_fields.hpp"
#include "hang/progress_document.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace muster::hang {
namespace {

/// Limit of the stacks of all ranks of a node: several hundred ranks deep in calls need less.
constexpr std::size_t kMostStackBytes = std::size_t{16} << 20U;
constexpr double kNeverQuiet = std::numeric_limits<double>::infinity();

/// True for progress that NCCL has counted.
bool is_counted(const GroupProgress& group) {
  return group.completed < 0;
}

json::array document_of(const Stack& stack, std::size_t most_frames) {
  json::array frames;
  for (const Frame& frame : stack) {
    if (frames.size() == most_frames) {
      break;
    }
    frames.push_back({valid_utf8(frame.file), valid_utf8(frame.function), frame.line});
  }
  return frames;
}

json::object document_of(const Place& place, std::size_t most_frames) {
  json::object object{{"state", std::string(1, place.state)}};
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) {
      object[name] = valid_utf8(text);
    }
  };
  add("end", place.end);
  add("wait", place.wait);
  add("no_stack", place.no_stack);
  if (!place.stack.empty()) {
    object["stack"] = document_of(place.stack, most_frames);
  }
  return object;
}

std::optional<Frame> read_frame(const json::value& value) {
  const json::array* const fields = value.if_array();
  if (fields == nullptr || fields->size() != 3 || !fields->at(0).is_string() || !fields->at(1).is_string()) {
    return {};
  }
  return Frame{one_line(std::string_view(fields->at(0).get_string()), kMostTextBytes),
               one_line(std::string_view(fields->at(1).get_string()), kMostTextBytes), number_of(&fields->at(2), 0)};
}

Place read_place(const json::object& object) {
  Place place;
  place.end = line_of(object, "end");
  place.wait = line_of(object, "wait");
  place.no_stack = line_of(object, "no_stack");
  const std::string state = line_of(object, "state");
  place.state = state.size() == 1 ? state.front() : '?';
  const json::array* const stack = array_of(object, "stack");
  for (std::size_t i = 0; stack != nullptr && i < std::min(stack->size(), kMostFrames); ++i) {
    if (auto frame = read_frame(stack->at(i))) {
      place.stack.push_back(std::move(*frame));
    }
  }
  return place;
}

json::array numbers_of(const RankEvidence& rank) {
  const Counters& counters = rank.counters;
  return {rank.rank,           rank.pid,          rank.is_active ? 1 : 0, counters.switches, counters.cpu_ms,
          counters.page_reads, counters.io_bytes, counters.children_ms,   counters.sending,  rank.quiet_ms,
          counters.threads_ms};
}

/// Reads what `numbers_of` writes.
std::optional<RankEvidence> read_rank(const json::value& value) {
  constexpr std::size_t kFields = 11;
  const json::array* const fields = value.if_array();
  if (fields == nullptr || fields->size() != kFields || number_of(&fields->at(0), -1) < 0) {
    return {};
  }
  const auto counter = [&](std::size_t field) { return number_of<std::uint64_t>(&fields->at(field), 0); };
  RankEvidence rank;
  rank.rank = number_of(&fields->at(0), -1);
  rank.pid = number_of(&fields->at(1), -1);
  rank.is_active = counter(2) != 0;
  rank.counters = {.switches = counter(3),
                   .cpu_ms = counter(4),
                   .page_reads = counter(5),
                   .io_bytes = counter(6),
                   .children_ms = counter(7),
                   .sending = counter(8),
                   .threads_ms = counter(10)};
  rank.quiet_ms = counter(9);
  return rank;
}

/// The bytes that a rank's copy of the stack takes.
std::size_t bytes_of(const Stack& stack) {
  std::size_t bytes = 0;
  for (const Frame& frame : stack) {
    bytes += sizeof(Frame) + frame.file.size() + frame.function.size();
  }
  return bytes;
}

/// Reads `{"place": {...}, "ranks": [[rank, pid, ...], ...]}`. A rank whose stack would take more than is left is kept
/// without it: a few bytes name a rank, and each has a copy.
void read_group(const json::value& value, const std::string& host, std::size_t& stack_bytes_left,
                std::vector<RankEvidence>& ranks) {
  const json::object* const found = value.if_object();
  const json::array* const entries = found == nullptr ? nullptr : array_of(*found, "ranks");
  const json::value* const place = found == nullptr ? nullptr : found->if_contains("place");
  if (entries == nullptr || place == nullptr || !place->is_object()) {
    return;
  }
  Place read = read_place(place->get_object());
  const std::size_t bytes = bytes_of(read.stack);
  for (const json::value& entry : *entries) {
    if (auto rank = read_rank(entry)) {
      if (bytes > stack_bytes_left && !std::exchange(read.stack, {}).empty()) {
        read.no_stack = "its node sends more stacks than muster can keep";
      }
      stack_bytes_left -= std::min(bytes_of(read.stack), stack_bytes_left);
      rank->host = host;
      rank->place = read;
      ranks.push_back(std::move(*rank));
    }
  }
}

/// Reads `{"host": ..., "quiet": SECONDS, "groups": [...], "fabric_bytes": N, "has_idle_recorders": true,
/// "progress": [...]}`.
/// Empty: it is none.
std::optional<Evidence> read_line(const std::string& line) {
  const auto node = parse_object(line);
  const json::array* const groups = node ? array_of(*node, "groups") : nullptr;
  if (groups == nullptr) {
    return {};
  }
  Evidence evidence{.ranks = {}, .quiet = number_of(node->if_contains("quiet"), kNeverQuiet)};
  evidence.store = line_of(*node, "store");
  if (const json::value* const fabric = node->if_contains("fabric_bytes")) {
    evidence.fabric_bytes = number_of<std::uint64_t>(fabric, 0);
  }
  evidence.nccl = line_of(*node, "nccl");
  evidence.has_idle_recorders = node->contains("has_idle_recorders");
  std::size_t stack_bytes_left = kMostStackBytes;
  for (const json::value& group : *groups) {
    read_group(group, line_of(*node, "host"), stack_bytes_left, evidence.ranks);
  }
  if (const json::array* const progress = array_of(*node, "progress")) {
    evidence.progress = read_progress(*progress);
  }
  return evidence;
}

/// True if a node names only its `ranks`, see `join_lines`. Rank 0's node gets NCCL's counts of all ranks.
bool names_only_own_ranks(const Evidence& node, const std::string& ranks) {
  const auto own = ranks == "none" ? std::optional(std::vector<int>()) : parse_ranges(ranks);
  const auto is_own = [&](int rank) { return std::ranges::binary_search(*own, rank); };
  const auto may_tell = [&](const RankProgress& one) {
    return is_own(one.rank) || (is_own(0) && std::ranges::all_of(one.groups, is_counted));
  };
  return !own ||
         (std::ranges::all_of(node.ranks, is_own, &RankEvidence::rank) && std::ranges::all_of(node.progress, may_tell));
}

void add_node(Evidence& evidence, Evidence node) {
  std::ranges::move(node.ranks, std::back_inserter(evidence.ranks));
  std::ranges::move(node.progress, std::back_inserter(evidence.progress));
  evidence.quiet = std::min(evidence.quiet, node.quiet);
  evidence.store = node.store.empty() ? std::move(evidence.store) : std::move(node.store);
  evidence.nccl += node.nccl;
  if (node.fabric_bytes) {
    evidence.fabric_bytes = evidence.fabric_bytes.value_or(0) + *node.fabric_bytes;
  }
  evidence.has_idle_recorders = evidence.has_idle_recorders || node.has_idle_recorders;
}

/// The path as a user knows it: below site-packages or Python's own library, otherwise only its last part.
std::string short_path(const std::string& path) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    if (const std::size_t at = path.rfind(folder); at != std::string::npos) {
      return path.substr(at + folder.size());
    }
  }
  return path.substr(path.rfind('/') + 1);
}

/// "state D in nfs_wait"
std::string describe_kernel(const Place& place) {
  return std::string("state ") + place.state + (place.wait.empty() ? "" : " in " + place.wait);
}

std::string write_groups(const Evidence& evidence, const json::array& progress, std::size_t most_frames) {
  std::map<Place, json::array> groups;
  for (const RankEvidence& one : evidence.ranks) {
    groups[one.place].push_back(numbers_of(one));
  }
  json::array written;
  for (auto& [place, ranks] : groups) {
    written.push_back(json::object{{"place", document_of(place, most_frames)}, {"ranks", std::move(ranks)}});
  }
  const std::string host = evidence.ranks.empty() ? "" : valid_utf8(evidence.ranks.front().host);
  json::object line{{"host", host}, {"quiet", evidence.quiet}, {"groups", std::move(written)}};
  if (!evidence.store.empty()) {
    line["store"] = valid_utf8(evidence.store);
  }
  if (!evidence.nccl.empty()) {
    line["nccl"] = valid_utf8(evidence.nccl);
  }
  if (evidence.fabric_bytes) {
    line["fabric_bytes"] = *evidence.fabric_bytes;
  }
  if (evidence.has_idle_recorders) {
    line["has_idle_recorders"] = true;
  }
  if (!progress.empty()) {
    line["progress"] = progress;
  }
  return json::serialize(line);
}

/// Gives each rank its progress. NCCL's counts are used only for ranks of which no flight recorder tells more.
void give_progress(Evidence& evidence) {
  const bool has_recorder = std::ranges::any_of(evidence.progress, [&](const RankProgress& one) {
    return std::ranges::any_of(one.groups, std::not_fn(is_counted));
  });
  std::map<int, std::vector<GroupProgress>> groups;
  for (RankProgress& one : std::exchange(evidence.progress, {})) {
    std::erase_if(one.groups, [&](const GroupProgress& group) { return has_recorder && is_counted(group); });
    std::ranges::move(one.groups, std::back_inserter(groups[one.rank]));
  }
  for (RankEvidence& rank : evidence.ranks) {
    rank.groups = std::move(groups[rank.rank]);
  }
}

/// Finds the rank that wrote last, and how long all others have been quiet.
void find_writer(Evidence& evidence) {
  constexpr double kMilliseconds = 1'000;
  std::vector<std::pair<std::uint64_t, int>> ages;
  ages.reserve(evidence.ranks.size());
  for (const RankEvidence& rank : evidence.ranks) {
    ages.emplace_back(rank.quiet_ms, rank.rank);
  }
  if (ages.size() > 1) {
    std::ranges::partial_sort(ages, ages.begin() + 2);
    evidence.writer = ages[0].second;
    evidence.others_quiet = static_cast<double>(ages[1].first) / kMilliseconds;
  }
}

}  // namespace

std::string to_line(const Evidence& evidence, std::size_t most_bytes) {
  const json::array progress = progress_document(evidence.progress, most_bytes / 2);
  std::string line = write_groups(evidence, progress, kMostFrames);
  for (std::size_t frames = kMostFrames / 2; line.size() > most_bytes && frames > 0; frames /= 2) {
    line = write_groups(evidence, progress, frames);
  }
  return line.size() > most_bytes ? write_groups(evidence, {}, 0) : line;
}

Evidence join_lines(const std::vector<std::string>& lines, const std::vector<std::string>& ranks) {
  Evidence evidence{.ranks = {}, .quiet = kNeverQuiet};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto node = read_line(lines[i]);
    if (node && names_only_own_ranks(*node, i < ranks.size() ? ranks[i] : "")) {
      add_node(evidence, std::move(*node));
    } else {
      ++evidence.missing;
    }
  }
  std::stable_sort(evidence.ranks.begin(), evidence.ranks.end(),
                   [](const RankEvidence& one, const RankEvidence& other) { return one.rank < other.rank; });
  const auto is_of_two_attempts = [](const RankEvidence& one, const RankEvidence& other) {
    return one.rank == other.rank;
  };
  evidence.ranks.erase(std::unique(evidence.ranks.begin(), evidence.ranks.end(), is_of_two_attempts),
                       evidence.ranks.end());
  give_progress(evidence);
  find_writer(evidence);
  return evidence;
}

std::vector<Group> group(const std::vector<RankEvidence>& evidence) {
  std::map<Place, std::set<int>> ranks;
  for (const RankEvidence& one : evidence) {
    ranks[one.place].insert(one.rank);
  }
  std::vector<Group> groups;
  groups.reserve(ranks.size());
  for (const auto& [place, of_place] : ranks) {
    groups.push_back({place, {of_place.begin(), of_place.end()}});
  }
  std::sort(groups.begin(), groups.end(), [](const Group& one, const Group& other) {
    return std::tuple(other.ranks.size(), one.ranks.front()) < std::tuple(one.ranks.size(), other.ranks.front());
  });
  return groups;
}

bool are_same_calls(const Stack& one, const Stack& other) {
  return std::ranges::equal(one, other, [](const Frame& left, const Frame& right) {
    return left.file == right.file && left.function == right.function;
  });
}

bool is_library(const Frame& frame) {
  return frame.file.find("/site-packages/") != std::string::npos ||
         frame.file.find("/dist-packages/") != std::string::npos ||
         frame.file.find("/lib/python3") != std::string::npos || frame.file.starts_with('<');
}

std::string describe(const Frame& frame) {
  return short_path(frame.file) + (frame.line > 0 ? ":" + std::to_string(frame.line) : "") + " in " + frame.function;
}

std::string describe(const Place& place) {
  if (!place.end.empty() || place.stack.empty()) {
    return place.end.empty() ? describe_kernel(place) : place.end;
  }
  const auto users = std::find_if_not(place.stack.begin(), place.stack.end(), is_library);
  const bool has_caller = users != place.stack.begin() && users != place.stack.end();
  const bool is_unusual = place.state != 'S' && place.state != 'R';
  return describe(place.stack.front()) + (has_caller ? ", called from " + describe(*users) : "") +
         (is_unusual ? ", " + describe_kernel(place) : "");
}

json::array stacks_document(const std::vector<RankEvidence>& evidence) {
  json::array groups;
  for (const Group& found : group(evidence)) {
    json::object object = document_of(found.place, found.place.stack.size());
    object["ranks"] = json::array(found.ranks.begin(), found.ranks.end());
    groups.push_back(std::move(object));
  }
  return groups;
}

namespace {

std::string group_text(const json::object& found) {
  std::vector<int> ranks;
  if (const json::array* const listed = array_of(found, "ranks"); listed != nullptr) {
    std::ranges::transform(*listed, std::back_inserter(ranks),
                           [](const json::value& rank) { return number_of(&rank, -1); });
  }
  const Place place = read_place(found);
  std::string text = describe_ranks(ranks) + ": " + (place.end.empty() ? describe_kernel(place) : place.end) + "\n";
  for (const Frame& frame : place.stack) {
    text += "    " + frame.file + ":" + std::to_string(frame.line) + " in " + frame.function + "\n";
  }
  return text + (place.no_stack.empty() ? "" : "    no Python stack: " + place.no_stack + "\n");
}

}  // namespace

std::string stacks_text(const json::object& answer) {
  std::string text;
  const json::array* const groups = array_of(answer, "stacks");
  for (std::size_t i = 0; groups != nullptr && i < groups->size(); ++i) {
    text += groups->at(i).is_object() ? group_text(groups->at(i).get_object()) : "";
  }
  const json::array* const verdict = array_of(answer, "verdict");
  for (std::size_t i = 0; verdict != nullptr && i < verdict->size(); ++i) {
    const json::value& line = verdict->at(i);
    text += (i == 0 ? "\n" : "") +
            (line.is_string() ? one_line(std::string_view(line.get_string()), kMostTextBytes) : "") + "\n";
  }
  return text;
}

}  // namespace muster::hang
