// Reads what is given to golden cases and makes plans of it.
#include "case.hpp"

#include "base/text.hpp"
#include "compat/compat_launcher.hpp"
#include "environment/devices.hpp"
#include "large_tables.hpp"
#include "requests.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace muster::golden {
namespace {

constexpr std::string_view kOwnVariable = "MUSTER_";

Error bad_line(const std::string& line, const std::string& message) {
  return Error{ErrorKind::BadData, "'" + line + "' " + message};
}

/// Words with a blank in between; one that has blanks itself stands in double quotes.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> std::quoted(word);) {
    words.push_back(word);
  }
  return words;
}

/// Quoted where it begins or ends with a blank.
std::string value_of(const std::string& text) {
  return text.starts_with('"') ? words_of(text).front() : text;
}

/// MUSTER_NPROC_PER_NODE is the option "nproc-per-node".
std::string option_of(const std::string& variable) {
  std::string name = lower_case(variable.substr(kOwnVariable.size()));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

/// "0-2,5": which files /dev/davinciN there are.
void read_ascend_files(Snapshot& snapshot, const std::string& list) {
  for (const DeviceEntry& entry : read_device_list(list)) {
    snapshot.devices.ascend_ids.push_back(entry.number.value_or(-1));
  }
  snapshot.devices.ascend = static_cast<int>(snapshot.devices.ascend_ids.size());
}

/// "devices: nvidia=8 cores=64"
Result<> read_devices(Snapshot& snapshot, const std::string& line) {
  const std::map<std::string, int*> counts = {{"nvidia", &snapshot.devices.nvidia},
                                              {"ascend", &snapshot.devices.ascend},
                                              {"amd", &snapshot.devices.amd},
                                              {"gaudi", &snapshot.devices.gaudi},
                                              {"neuron", &snapshot.devices.neuron_cores},
                                              {"cores_of_neuron", &snapshot.devices.cores_of_neuron},
                                              {"intel", &snapshot.devices.intel},
                                              {"intel_tiles", &snapshot.devices.intel_tiles},
                                              {"tpu", &snapshot.devices.tpu},
                                              {"cores", &snapshot.cores.count}};
  const std::vector<std::string> words = words_of(line);
  for (auto word = words.begin() + 1; word != words.end(); ++word) {
    const std::size_t equals = word->find('=');
    const auto known = counts.find(word->substr(0, equals));
    if (word->starts_with("davinci=")) {
      read_ascend_files(snapshot, word->substr(equals + 1));
      continue;
    }
    if (word->starts_with("interfaces=")) {
      snapshot.interfaces = split(word->substr(equals + 1), ',');
      continue;
    }
    const auto count =
        equals == std::string::npos ? std::nullopt : parse_integer(word->substr(equals + 1), 0, 1'000'000);
    if (!count || known == counts.end()) {
      return bad_line(line, "has no nvidia=, ascend=, amd= or cores= with a number");
    }
    *known->second = *count;
  }
  return {};
}

/// "@/etc/mpi/hostfile a slots=8" is a line of that file, "@/etc/mpi/hostfile" is an empty one. "@worker" is short
/// for the list of hosts that Volcano mounts for a task; "@id_rsa" is a key.
void read_mounted(Snapshot& snapshot, const std::string& line) {
  if (line == "@id_rsa") {
    snapshot.volcano_ssh_key = "/root/.ssh/id_rsa";
    return;
  }
  const std::size_t blank = line.find(' ');
  const std::string name = line.substr(1, blank - 1);
  const bool is_path = name.starts_with('/');
  std::string& text = snapshot.files[is_path ? name : kVolcanoFolder + ("/" + name) + kHostFileEnding];
  if (blank != std::string::npos) {
    text += line.substr(blank + 1) + "\n";
  }
  const auto& places = kRankTablePlaces;
  if (snapshot.rank_table.empty() && std::find(places.begin(), places.end(), name) != places.end()) {
    snapshot.rank_table = name;
  }
}

/// "table: /t.json 1.0 64x8"
Result<> read_large_table(Snapshot& snapshot, const std::string& line) {
  const std::vector<std::string> words = words_of(line);
  const std::vector<std::string> numbers = words.size() == 4 ? split(words[3], 'x') : words;
  if (numbers.size() == 2) {
    const Shape shape{parse_integer(numbers[0], 1, 60'000).value_or(0), parse_integer(numbers[1], 1, 16).value_or(0)};
    snapshot.files[words[1]] = large_table(words[2], shape);
  }
  return numbers.size() == 2 && !snapshot.files[words[1]].empty()
             ? Result<>()
             : bad_line(line, "has no path, form, and servers x devices, such as /t.json 1.0 64x8");
}

void read_program(Case& given, const std::string& line) {
  std::vector<std::string> words = words_of(line.substr(1));
  const bool is_ours = !words.empty() && (words.front() == "muster" || find_compat(words.front()) != nullptr);
  (is_ours ? given.command_line : given.program) = std::move(words);
}

/// NAME+=value is one more line of that variable.
void add_line(Case& given, const std::string& name, const std::string& value) {
  std::string& whole = given.snapshot.variables[name];
  whole += "\n" + value;
}

/// NAME=value or --name=value.
Result<> read_setting(Case& given, const std::string& line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string::npos || line.find(' ') < equals) {
    return bad_line(line, "is no line of a case");
  }
  const std::string name = line.substr(0, equals);
  const std::string value = value_of(line.substr(equals + 1));
  if (name.starts_with("--")) {
    given.settings.set(name.substr(2), {value, from_flag(name)});
    return {};
  }
  if (name.ends_with('+')) {
    add_line(given, name.substr(0, name.size() - 1), value);
    return {};
  }
  given.snapshot.variables[name] = value;
  if (name.starts_with(kOwnVariable)) {
    given.settings.set(option_of(name), {value, from_option(name)});
  }
  return {};
}

Result<> read_line(Case& given, const std::string& line) {
  if (line.starts_with("devices: ")) {
    return read_devices(given.snapshot, line);
  }
  if (line.starts_with("table: ")) {
    return read_large_table(given.snapshot, line);
  }
  if (line.starts_with("host: ")) {
    given.snapshot.host_name = words_of(line).back();
  } else if (line.starts_with("address: ")) {
    std::vector<std::string> addresses = given.snapshot.addresses.get();
    addresses.push_back(words_of(line).back());
    given.snapshot.addresses = std::move(addresses);
  } else if (line.starts_with('@')) {
    read_mounted(given.snapshot, line);
  } else if (line.starts_with('$')) {
    read_program(given, line);
  } else if (line == "full") {
    given.is_full = true;
  } else if (line == "seen") {
    given.shows_lost = true;
  } else {
    return read_setting(given, line);
  }
  return {};
}

/// A case has a command line, or settings and a program that is run as it is.
Result<CommandLine> line_of(const Case& given) {
  if (given.command_line.empty()) {
    CommandLine line;
    line.command = Command::Plan;
    line.settings = given.settings;
    line.program = given.program;
    return line;
  }
  std::vector<std::string> tokens = given.command_line;
  std::vector<char*> argv;
  for (std::string& token : tokens) {
    argv.push_back(token.data());
  }
  return read_command_line(argv, given.snapshot, [&](const std::string& path) {
    const auto file = given.snapshot.files.find(path);
    return file == given.snapshot.files.end() ? std::nullopt : std::optional(file->second);
  });
}

}  // namespace

Result<Case> read_case(const std::vector<std::string>& lines) {
  Case given;
  given.snapshot.host_name = "node";
  given.snapshot.working_directory = "/home/user/job";
  given.snapshot.cores = {.count = 8, .source = "affinity"};
  for (const std::string& line : lines) {
    if (auto read = read_line(given, line); !read) {
      return read.error();
    }
  }
  return given;
}

Result<Planned> plan_of(const Case& given) {
  const auto line = line_of(given);
  if (!line) {
    return line.error();
  }
  auto options = read_options(*line, given.snapshot);
  if (!options) {
    return options.error();
  }
  return plan_job(*line, *options, given.snapshot);
}

}  // namespace muster::golden
