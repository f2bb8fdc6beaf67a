// Platform reader for Slurm, and the expansion of Slurm's compressed host lists.
//
// Slurm: tasks that srun starts. A step may be smaller than its job, so SLURM_STEP_* are read and not SLURM_JOB_*. A
// step with one task on each node runs one agent on each node. With more, each task is a process that
// srun has placed as one worker: then nodes and ranks count tasks. In a batch script, or in salloc's shell,
// there is no step: a job of several nodes lacks its srun. SLURM_JOB_ID alone is no sign, because images and
// containers inherit it.
// Source: slurm.schedmd.com, srun(1) and sbatch(1), "OUTPUT ENVIRONMENT VARIABLES"; slurm.conf(5), "KillWait".
#include "base/text.hpp"
#include "environment/accelerators.hpp"
#include "environment/local_host.hpp"
#include "options/readers.hpp"
#include "platforms/host_lists.hpp"
#include "platforms/platform.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <numeric>
#include <set>

namespace muster {
namespace {

using Text = Sourced<std::string>;

/// The step id of the shell that `salloc` starts on a node, which is no step of the job's work.
constexpr std::string_view kInteractiveStep = "4294967290";
constexpr std::chrono::milliseconds kKillWait{30'000};

bool is_in_step(const Snapshot& snapshot) {
  const auto step = snapshot.variable("SLURM_STEP_ID");
  return step && *step != kInteractiveStep;
}

/// Outside of a step, no Slurm variable has this node's rank. If RANK and WORLD_SIZE are set there, another launcher has
/// placed this node and was only started inside an allocation: then Slurm is not the platform.
std::optional<std::string> find_slurm_sign(const Snapshot& snapshot) {
  const bool is_placed = snapshot.has("RANK") && snapshot.has("WORLD_SIZE");
  if (!snapshot.has("SLURM_JOB_ID") || (is_placed && !is_in_step(snapshot))) {
    return std::nullopt;
  }
  return first_set(snapshot, {"SLURM_STEP_ID", "SLURM_PROCID", "SLURM_JOB_NUM_NODES"});
}

/// Variables of the whole step.
struct Step {
  Sourced<int> nodes;
  std::vector<int> tasks;  ///< of each node
  HostList hosts;
};

std::optional<Error> missing_of_step(const Snapshot& snapshot) {
  for (const char* const name :
       {"SLURM_STEP_NUM_NODES", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE", "SLURM_STEP_NODELIST"}) {
    if (!snapshot.has(name)) {
      return Error{ErrorKind::BadEnvironment, "SLURM_STEP_ID is '" + *snapshot.variable("SLURM_STEP_ID") + "', but " +
                                                  name +
                                                  " is not set, which srun sets as well; pass all SLURM_* variables "
                                                  "on, or give --nnodes and --node-rank"};
    }
  }
  return std::nullopt;
}

Result<Step> read_step(const Snapshot& snapshot) {
  const auto nodes = TRY(read_node_count(*sourced_variable(snapshot, "SLURM_STEP_NUM_NODES")));
  const Text counts = *sourced_variable(snapshot, "SLURM_STEP_TASKS_PER_NODE");
  const auto tasks = TRY(read_tasks_per_node(counts));
  const Text list = *sourced_variable(snapshot, "SLURM_STEP_NODELIST");
  const auto hosts = TRY(read_slurm_list(list));
  const auto count = static_cast<std::size_t>(nodes.value);
  const bool is_short_list = hosts.value.size() != count;
  if (is_short_list || tasks.value.size() != count) {
    const Text& other = is_short_list ? list : counts;
    return contradiction(as_text(nodes), {shortened(other.value), other.source},
                         "both are about the nodes of this step");
  }
  return Step{nodes, tasks.value, hosts};
}

/// Reads a required variable: srun sets all of them for each task.
Result<Sourced<int>> read_rank(const Snapshot& snapshot, const char* name, const Sourced<int>& count) {
  const auto text = sourced_variable(snapshot, name);
  if (!text) {
    return Error{ErrorKind::BadEnvironment, count.source.name + " is '" + std::to_string(count.value) + "', but " +
                                                name +
                                                " is not set, which srun sets as well; pass all SLURM_* variables on"};
  }
  auto rank = read_node_rank(*text);
  if (rank && rank->value >= count.value) {
    return contradiction(*rank, count, "a rank must be below its count");
  }
  return rank;
}

/// Makes one task one worker and one node.
Result<> read_placed_task(PlatformFacts& facts, const Step& step, const Snapshot& snapshot) {
  const Source source = from_variable("SLURM_STEP_TASKS_PER_NODE");
  const auto all = TRY(read_node_count(*sourced_variable(snapshot, "SLURM_STEP_NUM_TASKS")));
  const auto sum = std::accumulate(step.tasks.begin(), step.tasks.end(), std::int64_t{0});
  if (sum != all.value) {
    return contradiction(as_text(all), {shortened(snapshot.variable(source.name).value_or("")), source},
                         "both count the tasks of this step");
  }
  const auto node = TRY(read_rank(snapshot, "SLURM_NODEID", step.nodes));
  const auto task = TRY(read_rank(snapshot, "SLURM_PROCID", all));
  const Sourced<int> here{step.tasks[static_cast<std::size_t>(node.value)], part_of(source, " of this node")};
  const auto local = TRY(read_rank(snapshot, "SLURM_LOCALID", here));
  facts.nodes = all;
  facts.node_rank = task;
  const auto cores =
      TRY(read_variable(snapshot, "SLURM_CPUS_PER_TASK",
                        read_sourced_integer<1, kMostWorkers, "a number of CPUs">));  // set only where requested
  facts.share = HostShare{local, here, node.value, step.nodes.value};
  if (cores) {
    facts.share->cores = cores->value;
  }
  const std::string devices = snapshot.variable("SLURM_GPUS_PER_TASK").value_or("");  // "2", or with a type "a100:2"
  facts.share->devices = parse_integer(devices.substr(devices.rfind(':') + 1), 0, kMostWorkers);
  return {};
}

/// The hosts of the job that are not part of the step.
Result<std::vector<std::string>> hosts_outside(const Step& step, const Snapshot& snapshot) {
  const auto listed = sourced_variable(snapshot, "SLURM_JOB_NODELIST");
  auto job = listed ? TRY(read_slurm_list(*listed)) : HostList();
  const std::set<std::string> inside(step.hosts.value.begin(), step.hosts.value.end());
  std::erase_if(job.value, [&](const std::string& host) { return inside.contains(host); });
  return job.value;
}

/// Error for a leader outside the step: a batch script often names the first host of the job, which a smaller step
/// may lack; then there would be no leader.
std::optional<Error> leader_outside(const Step& step, const std::vector<std::string>& outside,
                                    const Snapshot& snapshot) {
  const auto leader = sourced_variable(snapshot, "MASTER_ADDR");
  const auto has_leader = [&](const std::vector<std::string>& hosts) {
    return std::ranges::any_of(hosts, [&](const std::string& host) { return is_same_name(host, leader->value); });
  };
  if (!leader || !has_leader(outside) || has_leader(step.hosts.value)) {
    return std::nullopt;
  }
  const Text hosts{shortened(*snapshot.variable("SLURM_STEP_NODELIST")), step.hosts.source};
  return contradiction(*leader, hosts,
                       "a host of the job, but of another step; leave MASTER_ADDR out, or give --master-addr");
}

Result<> read_leader(PlatformFacts& facts, const Step& step, const Snapshot& snapshot) {
  const Text first{step.hosts.value.front(), step.hosts.source};
  TRY(read_batch_leader(facts, first, snapshot));
  auto outside = hosts_outside(step, snapshot);
  if (!outside) {  // the step's own list counts: the other one only shows mistakes
    facts.remark = outside.error().message + "; so it is not known whether the leader is of another step";
    return {};
  }
  facts.no_leader = leader_outside(step, *outside, snapshot);
  facts.hosts_elsewhere = std::move(*outside);
  if (facts.no_leader) {
    facts.master_address.reset();
  }
  return {};
}

Result<> read_task(PlatformFacts& facts, const Snapshot& snapshot) {
  facts.no_nodes = missing_of_step(snapshot);
  if (facts.no_nodes) {
    return {};
  }
  const auto step = TRY(read_step(snapshot));
  const bool is_agent_each = std::ranges::all_of(step.tasks, [](int tasks) { return tasks == 1; });
  if (!is_agent_each) {
    TRY(read_placed_task(facts, step, snapshot));
    return read_leader(facts, step, snapshot);
  }
  const auto rank = TRY(read_rank(snapshot, "SLURM_NODEID", step.nodes));
  facts.nodes = step.nodes;
  facts.node_rank = rank;
  facts.hosts = step.hosts;
  return read_leader(facts, step, snapshot);
}

/// Error for a job with several groups of nodes, each of which has separate variables.
std::optional<Error> several_groups(const Snapshot& snapshot) {
  const auto groups = sourced_variable(snapshot, "SLURM_HET_SIZE");
  if (!groups || parse_integer(groups->value, 0, 1)) {
    return std::nullopt;
  }
  return Error{ErrorKind::BadEnvironment, "SLURM_HET_SIZE is '" + groups->value +
                                              "': muster does not know how the groups of a heterogeneous job belong "
                                              "together, and none of them was started by srun"};
}

/// Error for a task outside of a step, where no other task is counted.
std::optional<Error> task_without_step(const Snapshot& snapshot) {
  for (const char* const name : {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID"}) {
    const auto rank = sourced_variable(snapshot, name);
    if (rank && rank->value != "0") {
      return Error{ErrorKind::BadEnvironment,
                   std::string(name) + " is '" + rank->value +
                       "', but SLURM_STEP_ID is not set, which srun sets as well; pass all SLURM_* variables on"};
    }
  }
  return std::nullopt;
}

/// Reads the variables of a batch script, or of salloc's shell.
Result<> read_shell(PlatformFacts& facts, const Snapshot& snapshot) {
  facts.no_nodes = task_without_step(snapshot);
  if (!facts.no_nodes) {
    facts.no_nodes = several_groups(snapshot);
  }
  if (facts.no_nodes) {
    return {};
  }
  std::optional<Sourced<int>> nodes;
  TRY(read_agreeing(nodes, snapshot, {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"}, read_node_count,
                    "both are the nodes of the job"));
  if (!nodes) {
    return {};
  }
  const std::string count = std::to_string(nodes->value);
  if (nodes->value > 1) {
    facts.no_nodes =
        Error{ErrorKind::BadEnvironment, nodes->source.name + " is '" + count +
                                             "', but this was not started by srun, so it runs on one of them only"};
    facts.start_by = "srun --nodes=" + count + " --ntasks=" + count + " --ntasks-per-node=1";
    facts.runs_alone = true;
    facts.may_be_by_hand = !snapshot.has("SLURM_PROCID") || snapshot.has("SLURM_STEP_ID");  // a shell of salloc
    return {};
  }
  facts.nodes = nodes;
  return {};
}

/// Describes a shell that `srun --pty` has started: it is one task of the step, and no muster runs in the other
/// tasks.
std::string describe_shell(const Snapshot& snapshot) {
  const auto tasks = snapshot.variable("SLURM_STEP_NUM_TASKS");
  const bool has_terminal = snapshot.has("SLURM_PTY_PORT") || snapshot.has("SLURM_PTY_WIN_COL");
  if (!tasks || !has_terminal || snapshot.variable("SLURM_PROCID") != "0") {
    return {};
  }
  return "this is task 0 of " + *tasks +
         " of 'srun --pty', and muster waits for the others: in its shell, --nnodes 1 (torchrun's --standalone) starts "
         "the job only on this node";
}

/// Reads this node's devices of the job, unless a list limits those of this task.
void read_slots(PlatformFacts& facts, const Snapshot& snapshot) {
  const auto counted = count_slots({"auto", {}}, snapshot);
  const bool is_listed = counted && counted->source.kind == SourceKind::Variable;
  if (!is_listed && !facts.share) {
    facts.slots = sourced_variable(snapshot, "SLURM_GPUS_ON_NODE");
  }
}

Result<> read_slurm(PlatformFacts& facts, const Snapshot& snapshot) {
  const bool is_step = is_in_step(snapshot);
  if (is_step) {
    facts.job_id->value += "." + *snapshot.variable("SLURM_STEP_ID");
  }
  TRY(is_step ? read_task(facts, snapshot) : read_shell(facts, snapshot));
  const std::string shell = is_step ? describe_shell(snapshot) : "";
  facts.may_be_by_hand = facts.may_be_by_hand || !shell.empty();
  facts.remark = facts.remark.empty() ? shell : facts.remark;
  read_slots(facts, snapshot);
  facts.grace = Sourced<std::chrono::milliseconds>{kKillWait, default_of("KillWait")};
  return {};
}

}  // namespace

const Platform kSlurm = {.name = "slurm",
                         .sign_text = "SLURM_JOB_ID with one of SLURM_STEP_ID, SLURM_PROCID and SLURM_JOB_NUM_NODES",
                         .find_sign = find_slurm_sign,
                         .variables = {.restarts = "SLURM_RESTART_COUNT", .job_id = "SLURM_JOB_ID"},
                         .read = read_slurm,
                         .counts = {"SLURM_STEP_NUM_NODES", "SLURM_JOB_NUM_NODES", "SLURM_NNODES", "SLURM_NODELIST",
                                    "SLURM_*_NODELIST", "SLURM_HET_SIZE", "SLURM_JOB_NUM_NODES_HET_GROUP_*",
                                    "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"}};

// Expands Slurm's compressed lists as `scontrol show hostnames` does; tests/slurm compares the two. In "n[1-3,07]" a
// number in front of a dash sets the width of the numbers of its range. With several brackets the last one counts
// fastest, then the first, the second, and so on.

namespace {

using Names = std::vector<std::string>;

constexpr std::size_t kLongestName = 255;  ///< of a host
constexpr int kMostBrackets = 8;           ///< within each other
constexpr std::size_t kShown = 40;         ///< characters of a wrong part

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<std::uint64_t> read_number(std::string_view text) {
  std::uint64_t number = 0;
  const bool is_read =
      is_number(text) && std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc{};
  return is_read ? std::optional(number) : std::nullopt;
}

/// Splits at the `separators` outside of brackets; empty when brackets do not match.
std::optional<std::vector<std::string_view>> split_outside(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> pieces;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    depth += text[at] == '[' ? 1 : text[at] == ']' ? -1 : 0;
    if (depth < 0) {
      return std::nullopt;
    }
    if (depth == 0 && separators.find(text[at]) != std::string_view::npos) {
      pieces.push_back(text.substr(begin, at - begin));
      begin = at + 1;
    }
  }
  pieces.push_back(text.substr(begin));
  return depth == 0 ? std::optional(pieces) : std::nullopt;
}

/// "d[01-02]-[3-4]x": the texts "d", "-" and "x", and the expansions of the brackets between them.
struct Pattern {
  std::vector<std::string_view> texts;
  std::vector<Names> brackets;
  std::size_t count = 1;  ///< of its names
};

/// The name with number `index` of a pattern.
std::string name_of(const Pattern& pattern, std::size_t index) {
  const std::size_t count = pattern.brackets.size();
  std::vector<std::string_view> chosen(count);
  for (std::size_t turn = 0; turn < count; ++turn) {
    const std::size_t bracket = turn == 0 ? count - 1 : turn - 1;
    const Names& numbers = pattern.brackets[bracket];
    chosen[bracket] = numbers[index % numbers.size()];
    index /= numbers.size();
  }
  std::string name(pattern.texts.front());
  for (std::size_t bracket = 0; bracket < count; ++bracket) {
    name.append(chosen[bracket]).append(pattern.texts[bracket + 1]);
  }
  return name;
}

/// Expands the names of one list, which messages show.
struct Expander {
  Sourced<std::string> list;  ///< shortened, for messages

  Error expected(const std::string& what) const { return wrong_value(list, what); }
  Error too_many() const { return expected("a list of at most " + std::to_string(kMostNodes) + " hosts"); }

  // Recursion is limited: brackets nest at most kMostBrackets deep.
  // NOLINTBEGIN(misc-no-recursion)
  /// Expands one name with brackets.
  [[nodiscard]] Result<> expand(std::string_view name, int depth, Names& names) const {
    if (depth > kMostBrackets) {
      return expected("fewer brackets within each other");
    }
    const auto pattern = TRY(read_pattern(name, depth));
    if (names.size() + pattern.count > kMostNodes) {
      return too_many();
    }
    for (std::size_t index = 0; index < pattern.count; ++index) {
      names.push_back(name_of(pattern, index));
      if (names.back().size() > kLongestName) {
        return expected("names of at most " + std::to_string(kLongestName) + " characters");
      }
    }
    return {};
  }

  [[nodiscard]] Result<Pattern> read_pattern(std::string_view name, int depth) const {
    Pattern pattern;
    std::size_t open = name.find('[');
    while (open != std::string_view::npos) {
      std::size_t end = open + 1;
      for (int level = 1; level > 0; ++end) {  // they match: the list was split by them
        level += name[end] == '[' ? 1 : name[end] == ']' ? -1 : 0;
      }
      Names numbers;
      TRY(expand_bracket(name.substr(open + 1, end - open - 2), depth, numbers));
      pattern.count *= numbers.size();
      if (pattern.count > kMostNodes) {  // before the next bracket is expanded
        return too_many();
      }
      pattern.texts.push_back(name.substr(0, open));
      pattern.brackets.push_back(std::move(numbers));
      name = name.substr(end);
      open = name.find('[');
    }
    pattern.texts.push_back(name);
    return pattern;
  }

  /// Expands the text of a bracket: "1-3,07", also with inner brackets, "1[0-2],20".
  [[nodiscard]] Result<> expand_bracket(std::string_view inside, int depth, Names& numbers) const {
    for (const std::string_view piece : split_outside(inside, ",").value_or(std::vector{inside})) {
      const bool has_bracket = piece.find('[') != std::string_view::npos;
      TRY(has_bracket ? expand(piece, depth + 1, numbers) : expand_range(piece, numbers));
      if (numbers.size() > kMostNodes) {
        return too_many();
      }
    }
    if (!std::ranges::all_of(numbers, is_number)) {
      return expected("numbers in its brackets, not '" + one_line(inside, kShown) + "'");
    }
    return {};
  }
  // NOLINTEND(misc-no-recursion)

  /// Adds "07", or the numbers of "1-3".
  [[nodiscard]] Result<> expand_range(std::string_view range, Names& numbers) const {
    const std::size_t dash = range.find('-');
    const std::string_view first = range.substr(0, dash);
    if (dash == std::string_view::npos && is_number(first)) {
      numbers.emplace_back(first);
      return {};
    }
    const auto least = read_number(first);
    const auto most = read_number(dash == std::string_view::npos ? "" : range.substr(dash + 1));
    if (!least || !most || *most < *least) {
      return expected("ranges such as 1-3 or 07 in its brackets, not '" + one_line(range, kShown) + "'");
    }
    if (*most - *least >= kMostNodes || first.size() > kLongestName) {
      return too_many();
    }
    for (std::uint64_t left = *most - *least + 1, number = *least; left > 0; --left, ++number) {
      const std::string digits = std::to_string(number);
      numbers.push_back(std::string(first.size() - std::min(first.size(), digits.size()), '0') + digits);
    }
    return {};
  }
};

}  // namespace

Result<HostList> read_slurm_list(const Sourced<std::string>& text) {
  const std::string form = "a list of hosts such as n[1-3,07],m2";
  const Expander expander{{shortened(text.value), text.source}};
  const auto pieces = split_outside(text.value, ", \t\r\n");
  if (!pieces) {
    return expander.expected(form + ", with each bracket closed");
  }
  HostList hosts{{}, text.source};
  for (const std::string_view piece : *pieces) {
    if (piece.empty()) {
      continue;
    }
    const std::size_t before = hosts.value.size();
    TRY(expander.expand(piece, 0, hosts.value));
    // The other names differ from the first one only in digits.
    if (!read_address({hosts.value[before], {}})) {
      return expander.expected(form);
    }
  }
  return hosts.value.empty() ? Result<HostList>(expander.expected(form)) : hosts;
}

Result<Sourced<std::vector<int>>> read_tasks_per_node(const Sourced<std::string>& text) {
  Sourced<std::vector<int>> tasks{{}, text.source};
  const auto refusal = [&] {
    return wrong_value({shortened(text.value), text.source},
                       "numbers of tasks such as 2(x3),1 of at most " + std::to_string(kMostNodes) + " nodes");
  };
  for (const std::string& piece : split(text.value, ',')) {
    const std::size_t open = piece.find("(x");
    const bool is_repeated = open != std::string::npos && piece.back() == ')';
    const auto count = parse_integer(std::string_view(piece).substr(0, open), 1, kMostWorkers);
    const auto nodes =
        is_repeated ? parse_integer(piece.substr(open + 2, piece.size() - open - 3), 1, kMostNodes) : std::optional(1);
    if (!count || !nodes || (open != std::string::npos && !is_repeated) ||
        tasks.value.size() + static_cast<std::size_t>(*nodes) > kMostNodes) {
      return refusal();
    }
    tasks.value.insert(tasks.value.end(), static_cast<std::size_t>(*nodes), *count);
  }
  return tasks.value.empty() ? Result<Sourced<std::vector<int>>>(refusal()) : tasks;
}

}  // namespace muster
