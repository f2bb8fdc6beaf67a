// What the options of mpirun mean together: how many processes, on which hosts, with which variables.
#include "placing.hpp"

#include <muster/base/text.hpp>
#include <muster/front_end/front_end.hpp>
#include <muster/mode/mpi_request.hpp>
#include <muster/options/syntax.hpp>

#include <algorithm>
#include <array>

namespace muster {
namespace {

/// A value that muster can do itself, and the setting that does it; nullptr: nothing has to be done.
struct Own {
  std::string_view option;
  std::string_view value;
  const char* setting = nullptr;
  const char* its_value = nullptr;
};

constexpr auto kOwnValues = std::to_array<Own>({
    {"bind-to", "none"},
    {"bind-to", "core", "numa-binding", "exclusive"},
    {"bind-to", "numa", "numa-binding", "node"},
    {"bind-to", "socket", "numa-binding", "socket"},
    {"bind-to", "l3cache", "numa-binding", "core-complex"},
    {"map-by", "slot"},
    {"rank-by", "slot"},
});

/// Options of which only some values are muster's as well.
bool has_own_values(const std::string& name) {
  return std::any_of(
      kOwnValues.begin(), kOwnValues.end(), [&](const Own& own) { return name == own.option; });
}

Sourced<std::string> last_of(const TypedOption& typed) {
  return {typed.values.empty() ? "1" : typed.values.back(), from_flag(typed.source)};
}

/// Parameters by which mpirun is told how to start daemons.
bool is_about_daemons(const std::string& parameter) {
  return parameter.starts_with("plm") || parameter == "orte_launch_agent" ||
         parameter == "prte_launch_agent";
}

/// What the rest of the translation knows of one option: whether mpirun is to get it, and whether only that can
/// do what it says.
struct Meaning {
  bool is_passed = false;
  bool is_only_mpirun = false;
};

void export_variable(Translation& t, const std::string& name, const Sourced<std::string>& value) {
  t.set(kExportPrefix + name, value);
}

/// "--mca btl self": a variable for ranks of muster's own, and the option for mpirun.
Meaning translate_parameter(Translation& t, const TypedOption& typed) {
  const std::string& name = typed.values.front();
  const Source source = from_flag(typed.source + " " + name);
  if (is_about_daemons(name)) {
    t.line.notices.push_back("ignoring " + source.name + ": how daemons start is muster's");
    return {};
  }
  if (is_hostfile_parameter(name)) {
    return {};  // it lists the hosts
  }
  if (typed.name == "prtemca") {
    return {true, true};
  }
  export_variable(t,
                  (typed.name == "pmixmca" ? "PMIX_MCA_" : "OMPI_MCA_") + name,
                  {typed.values.back(), source});
  return {true, false};
}

/// "-x NAME" takes the value that the variable has here.
Meaning translate_variable(Translation& t, const TypedOption& typed) {
  const std::string& text = typed.values.front();
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const Source source = from_flag(typed.source + " " + name);
  const auto value = equals == std::string::npos ? t.snapshot.variable(name)
                                                 : std::optional(text.substr(equals + 1));
  if (value && !name.empty()) {
    export_variable(t, name, {*value, source});
  } else {
    t.line.notices.push_back("ignoring " + source.name + ": there is no such variable here");
  }
  return {};
}

/// Options whose meaning is in their value.
Meaning translate_value(Translation& t, const TypedOption& typed) {
  if (typed.name == "map-by" && read_per_node(typed.values.front())) {
    return {};  // the slots say it
  }
  const auto* const own =
      std::find_if(std::begin(kOwnValues), std::end(kOwnValues), [&](const Own& one) {
        return typed.name == one.option && typed.values.front() == one.value;
      });
  if (own == std::end(kOwnValues)) {
    return {true, true};
  }
  if (own->setting != nullptr) {
    t.set(own->setting, {own->its_value, from_flag(typed.source)});
  }
  return {true, false};
}

Meaning translate_stdin(Translation& t, const TypedOption& typed) {
  const Sourced<std::string> who = last_of(typed);
  if (parse_integer(who.value, 0, 10'000'000)) {
    t.set("stdin", who);
  }
  return {true, who.value == "all"};
}

Meaning meaning_of(Translation& t, const TypedOption& typed) {
  if (typed.name == "x") {
    return translate_variable(t, typed);
  }
  if (typed.name == "mca" || typed.name == "gmca" || typed.name == "pmixmca" ||
      typed.name == "prtemca") {
    return translate_parameter(t, typed);
  }
  if (has_own_values(typed.name)) {
    return translate_value(t, typed);
  }
  if (typed.name == "stdin") {
    return translate_stdin(t, typed);
  }
  if (typed.name == "output-filename") {
    const Sourced<std::string> folder = last_of(typed);
    t.set("log-dir", {folder.value.substr(0, folder.value.find(':')), folder.source});
  }
  return {typed.option->is_passed, typed.option->fate == Fate::Passed};
}

/// What mpirun will be given where it is started, and what rules out that muster starts the ranks itself.
void translate_options(Translation& t) {
  std::vector<std::string> words;
  for (const TypedOption& typed : t.typed) {
    const Meaning meaning = meaning_of(t, typed);
    if (meaning.is_passed) {
      words.push_back(typed.source);
      words.insert(words.end(), typed.values.begin(), typed.values.end());
    }
    if (meaning.is_only_mpirun && !t.settings.contains(kOnlyMpirun)) {
      t.set(kOnlyMpirun, {typed.source, from_flag(typed.source)});
    }
  }
  if (!words.empty()) {
    t.set(kMpirunWords, {quoted_words(words), from_flag("mpirun")});
  }
}

/// A word of one colon begins the next program.
Result<> check_one_program(const Translation& t) {
  const auto& program = t.line.program;
  return std::find(program.begin(), program.end(), ":") == program.end()
             ? Result<>()
             : Result<>(
                   Error{ErrorKind::BadUsage,
                         "':' begins another program of the same job, and muster starts one "
                         "program; put them in a script that chooses by OMPI_COMM_WORLD_RANK"});
}

}  // namespace

Result<> translate_mpirun(Translation& t) {
  if (auto checked = check_one_program(t); !checked) {
    return checked;
  }
  t.set("no-python", {"1", default_of("mpirun")});
  translate_options(t);
  return translate_placing(t);
}

}  // namespace muster
