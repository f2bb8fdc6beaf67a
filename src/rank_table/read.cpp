// Reads a table from a file's text: parses the JSON, reports progress of unfinished tables, and checks the rules.
#include "rank_table/read.hpp"

#include "base/text.hpp"
#include "rank_table/check.hpp"
#include "rank_table/layout.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>
#include <set>
#include <utility>

namespace muster::rank_table {

std::string_view name_of(Form form) {
  static constexpr std::array<std::string_view, 5> kNames = {
      "v0.1 (group_list)", "without a version (group_list with rank_id)", "v1.0 (server_list)", "v1.2 (super_pod_list)",
      "v2.0 (rank_list)"};
  return kNames.at(static_cast<std::size_t>(form));
}

// Allocates memory in huge pages.

namespace {

constexpr std::size_t kLargePage = std::size_t{2} << 20;  // of x86-64, and of aarch64 with small ones of 4 KiB

std::align_val_t alignment_of(std::size_t size, std::size_t alignment) {
  return std::align_val_t(size < kLargePage ? alignment : std::max(alignment, kLargePage));
}

}  // namespace

void* LargePages::do_allocate(std::size_t size, std::size_t alignment) {
  void* const place = ::operator new(size, alignment_of(size, alignment));
  if (size >= kLargePage) {
    (void)::madvise(place, size, MADV_HUGEPAGE);  // advice only: a kernel without huge pages uses small ones
  }
  return place;
}

void LargePages::do_deallocate(void* place, std::size_t size, std::size_t alignment) {
  ::operator delete(place, alignment_of(size, alignment));
}

namespace {

Error refuse(const std::string& name, const Breach& breach) {
  return {ErrorKind::BadData, "rank table '" + name + "': " + describe(breach)};
}

/// A table and its layout in the document.
struct ParsedTable {
  Reading reading;
  Layout layout;
};

/// Builds the table and adds structural breaches; with any breach, there is no table.
ParsedTable understand(json::object& root, const std::string& name, Breaches& breaches) {
  Layout layout = lay_out(root, breaches);
  Breaches wrong(1);
  Table table = make_table(root, layout, wrong);
  const auto& first = breaches.found().empty() ? wrong.found() : breaches.found();
  return {first.empty() ? Reading(std::move(table)) : refuse(name, first.front()), std::move(layout)};
}

// NOLINTBEGIN(misc-no-recursion): the parser limits the depth of documents
std::size_t count_members(const json::object& object);

std::size_t count_members_in(const json::value& value) {
  if (const json::object* object = value.if_object()) {
    return count_members(*object);
  }
  std::size_t count = 0;
  if (const json::array* array = value.if_array()) {
    for (const json::value& item : *array) {
      count += count_members_in(item);
    }
  }
  return count;
}

std::size_t count_members(const json::object& object) {
  std::size_t count = object.size();
  for (const auto& member : object) {
    count += count_members_in(member.value());
  }
  return count;
}
// NOLINTEND(misc-no-recursion)

/// Finds keys that occur twice, of which the document keeps the last. Compares numbers of members, so that a large
/// table is not read again where no key repeats.
std::vector<Breach> find_repeated_keys(std::string_view text, std::size_t members) {
  if (count_keys(text) == members) {
    return {};
  }
  const auto key = find_repeated_key(text.substr(text.find('{')));
  return !key ? std::vector<Breach>()
              : std::vector<Breach>{{*key, "written twice in one object", "it once; the last one counts", ""}};
}

}  // namespace

std::string without_indentation(std::string text) {
  std::size_t kept = std::min(text.find('\n'), text.size());  // a first line may begin with a byte order mark
  for (std::size_t at = kept; at < text.size();) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) {
      ++at;
    }
    const std::size_t end = text.find('\n', at);
    const std::size_t size = (end == std::string::npos ? text.size() : end + 1) - at;
    std::memmove(text.data() + kept, text.data() + at, size);
    kept += size;
    at += size;
  }
  text.resize(kept);
  text.shrink_to_fit();
  return text;
}

Reading read(std::string_view text, const std::string& name) {
  Memory memory;
  Document document = parse(text, memory);
  if (auto* unfinished = std::get_if<Unfinished>(&document)) {
    return std::move(*unfinished);
  }
  if (const auto* breach = std::get_if<Breach>(&document)) {
    return refuse(name, *breach);
  }
  Breaches breaches(1);
  return understand(std::get<json::object>(document), name, breaches).reading;
}

Inspection inspect(std::string_view text, const std::string& name, const Rules& rules) {
  Memory memory;
  Document document = parse(text, memory);
  if (auto* unfinished = std::get_if<Unfinished>(&document)) {
    return {std::move(*unfinished), {}, {}};
  }
  if (auto* breach = std::get_if<Breach>(&document)) {
    Error error = refuse(name, *breach);
    return {std::move(error), {std::move(*breach)}, {}};
  }
  auto& root = std::get<json::object>(document);
  Breaches breaches(rules.most);
  ParsedTable understood = understand(root, name, breaches);
  check_all({root, understood.layout, rules, breaches});
  std::vector<Breach> notices;
  if (rules.wants_notices) {
    notices = find_repeated_keys(text, count_members(root));
    std::ranges::move(find_notices(root, understood.layout), std::back_inserter(notices));
  }
  return {std::move(understood.reading), std::move(breaches.found()), std::move(notices)};
}

std::string describe(const Breach& breach) {
  return breach.path + (breach.value.empty() ? " is missing" : " is " + breach.value) + ", expected " +
         breach.expected + (breach.code.empty() ? "" : " (CANN: " + breach.code + ")");
}

// Lists the present and missing instances of a table that is being written.

namespace {

constexpr std::size_t kMostNames = 8;
constexpr std::size_t kMostBytes = 60;  ///< of a name

/// Present and missing instances of all groups.
struct Progress {
  std::size_t expected = 0;
  std::vector<std::string> here;     ///< names of pods
  std::vector<std::string> missing;  ///< "no instance 2", "job-worker-1 has no devices"
};

std::string list_of(std::vector<std::string> names) {
  const std::size_t more = names.size() > kMostNames ? names.size() - kMostNames : 0;
  names.resize(names.size() - more);
  return join(names, ", ") + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

/// The numbers below `count` that are missing; empty where an unreadable number (-1) may be one of them.
std::vector<int> absent_numbers(const std::set<int>& numbers, int count) {
  constexpr int kMostNumbers = 100'000;
  std::vector<int> absent;
  for (int number = 0; numbers.count(-1) == 0 && number < std::min(count, kMostNumbers); ++number) {
    if (numbers.count(number) == 0) {
      absent.push_back(number);
    }
  }
  return absent;
}

/// Counts the instance and notes what it lacks; returns the number at the end of its pod's name.
int count_instance(const json::object& instance, Progress& progress) {
  const json::array* devices = array_of(instance, "devices");
  const std::string pod = one_line(text_of(instance, "pod_name"), kMostBytes);
  const std::string name = pod.empty() ? "an instance" : pod;
  if (devices == nullptr || devices->empty()) {
    progress.missing.push_back(name + " has no devices");
  } else {
    progress.here.push_back(name);
  }
  const auto number = pod_number(pod);
  return number && *number <= std::numeric_limits<int>::max() ? static_cast<int>(*number) : -1;
}

/// Notes instances without devices, and numbers without a pod.
void count_group(const json::object& group, Progress& progress) {
  const json::array* list = array_of(group, "instance_list");
  std::set<int> numbers;
  for_each_object(list, [&](const json::object& instance) { numbers.insert(count_instance(instance, progress)); });
  const int count = number_of(group.if_contains("instance_count")).value_or(0);
  progress.expected += std::max(list == nullptr ? 0 : list->size(), static_cast<std::size_t>(count));
  const std::vector<int> absent = absent_numbers(numbers, count);
  if (!absent.empty()) {
    const std::string name = one_line(text_of(group, "group_name"), kMostBytes);
    progress.missing.push_back("no instance " + describe_ranges(absent) + (name.empty() ? "" : " of group " + name));
  }
}

/// Progress of a flat list, whose elements are named by `key`.
Progress count_list(const json::array& list, const json::value* count, std::string_view key) {
  Progress progress;
  for_each_object(&list, [&](const json::object& object) {
    if (object.contains(key)) {
      progress.here.push_back(one_line(plain_text(object, key), kMostBytes));
    }
  });
  progress.expected = std::max(progress.here.size(), static_cast<std::size_t>(number_of(count).value_or(0)));
  return progress;
}

/// ": 2 of 3 servers are there (10.0.0.1, 10.0.0.2)"
std::string describe(const Progress& progress, std::string_view noun) {
  return ": " + std::to_string(progress.here.size()) + " of " + count_of(progress.expected, noun) +
         (progress.here.size() == 1 ? " is there" : " are there") +
         (progress.here.empty() ? "" : " (" + list_of(progress.here) + ")") +
         (progress.missing.empty() ? "" : ", " + list_of(progress.missing));
}

std::string describe_progress(const json::object& root) {
  if (const json::array* groups = array_of(root, "group_list"); groups != nullptr) {
    Progress progress;
    for_each_object(groups, [&progress](const json::object& group) { count_group(group, progress); });
    return describe(progress, "instance");
  }
  if (const json::array* servers = array_of(root, "server_list"); servers != nullptr) {
    return describe(count_list(*servers, root.if_contains("server_count"), "server_id"), "server");
  }
  if (const json::array* ranks = array_of(root, "rank_list"); ranks != nullptr) {
    return describe(count_list(*ranks, root.if_contains("rank_count"), "rank_id"), "rank");
  }
  return ": it lists nothing yet";
}

/// Progress by `status`; empty: the table is completed, or has no status at all.
std::optional<Unfinished> find_progress(const json::object& root) {
  const std::string_view status = text_of(root, "status");
  if (root.if_contains("status") == nullptr || status == "completed") {
    return std::nullopt;
  }
  if (status == "initializing") {
    return Unfinished{"initializing" + describe_progress(root)};
  }
  if (status == "unknown") {
    return Unfinished{"its writer says that the state is unknown" + describe_progress(root)};
  }
  return Unfinished{"its status is " + written(root.if_contains("status")) + " and not 'completed'" +
                    describe_progress(root)};
}

// Parses a table's text, and detects text that is not a table yet.

constexpr std::size_t kShownBytes = 60;
constexpr std::string_view kBlanks = " \t\r\n";

bool has_zero(std::string_view text, std::size_t at) {
  return at < text.size() && text[at] == '\0';
}

/// True for zero bytes at the end, a hole that is filled later; false for text that never was JSON: in UTF-16 a zero
/// follows each letter.
bool is_being_written(std::string_view text) {
  const std::size_t start = std::min(text.find_first_not_of(kBlanks), text.size());
  const std::string_view rest = text.substr(start);
  const auto is_zero_from = [&rest](std::size_t at) {
    return rest.find_first_not_of('\0', at) == std::string_view::npos;
  };
  return is_zero_from(0) || (rest.starts_with('{') && (!has_zero(rest, 1) || is_zero_from(1)));
}

/// Name of the encoding or compression that an editor or a pipe has applied; empty: none known.
std::string_view other_coding(std::string_view text) {
  if (text.starts_with("\x1F\x8B")) {
    return "it is compressed with gzip";
  }
  const bool is_marked = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
  return is_marked || has_zero(text, 0) || has_zero(text, 1) ? "it is UTF-16 and not UTF-8" : "";
}

Breach not_json(std::string_view text, std::size_t end, std::string_view error) {
  const std::string_view coding = other_coding(text);
  const std::string why = std::string(coding.empty() ? error : coding) + describe_json_mistake(text);
  const auto lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  return {"line " + std::to_string(lines + 1), "no JSON (" + why + ")", "a JSON object", "EI0004"};
}

/// The path of the first number beyond a double's range, which HCCL's parser refuses. Empty: there is none.
// NOLINTNEXTLINE(misc-no-recursion): the parser limits the depth of documents
std::optional<std::string> path_of_infinite(const json::value& value) {
  const json::array* array = value.if_array();
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
    if (const auto found = path_of_infinite((*array)[i])) {
      return "[" + std::to_string(i) + "]" + *found;
    }
  }
  const json::object none;
  for (const auto& member : value.is_object() ? value.get_object() : none) {
    if (const auto found = path_of_infinite(member.value())) {
      return "." + std::string(member.key()) + *found;
    }
  }
  const double* number = value.if_double();
  return number != nullptr && std::isinf(*number) ? std::optional<std::string>("") : std::nullopt;
}

}  // namespace

Document parse(std::string_view text, Memory& memory) {
  text = without_byte_order_mark(text);  // HCCL accepts it, too
  if (text.ends_with('\0') && is_being_written(text)) {
    return Unfinished{"it ends in the middle (being written)"};
  }
  json::stream_parser parser;
  parser.reset(&memory.values);
  boost::system::error_code error;
  const std::size_t end = parser.write_some(text.data(), text.size(), error);
  const std::string_view rest = text.substr(std::min(end, text.size()));
  if (!error && !trim(rest).empty()) {
    return not_json(text, end, "text after the end");
  }
  if (error) {
    return not_json(text, end, error.message());
  }
  if (!parser.done()) {
    return Unfinished{trim(text).empty() ? "it is empty" : "it ends in the middle (being written)"};
  }
  json::value root = parser.release();
  if (!root.is_object()) {
    return Breach{"the file", written(&root), "a JSON object", "EI0004"};
  }
  if (auto unfinished = find_progress(root.get_object())) {
    return std::move(*unfinished);
  }
  if (const auto path = path_of_infinite(root)) {
    return Breach{path->substr(1), "too large", "a number below 1.8e308", "EI0004"};
  }
  return std::move(root.get_object());
}

json::object parse_again(std::string_view text, Memory& memory) {
  return std::move(json::parse(without_byte_order_mark(text), &memory.values).as_object());
}

std::optional<int> number_of(const json::value* value) {
  constexpr int kMost = std::numeric_limits<int>::max();
  const std::int64_t* number = value == nullptr ? nullptr : value->if_int64();
  if (number == nullptr) {
    return parse_integer(text_of(value), 0, kMost);
  }
  return *number < 0 || *number > kMost ? std::nullopt : std::optional(static_cast<int>(*number));
}

std::string plain_text(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  const bool is_number = value != nullptr && (value->is_int64() || value->is_uint64());
  return is_number ? json::serialize(*value) : std::string(text_of(object, key));
}

std::string written(const json::value* value) {
  if (value == nullptr) {
    return {};
  }
  if (value->is_array()) {
    return value->get_array().empty() ? "an empty list" : "a list";
  }
  return value->is_object() ? "an object" : one_line(compact(*value), kShownBytes);
}

}  // namespace muster::rank_table
