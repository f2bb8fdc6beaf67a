// What a command line of mpirun's means: how many processes, on which hosts, with which variables.
#include "compat/meaning.hpp"
#include "compat/placing.hpp"
#include "compat/programs.hpp"

#include "base/text.hpp"
#include "compat/front_end.hpp"
#include "modes/mpi_request.hpp"
#include "mpi/agent_call.hpp"
#include "options/syntax.hpp"

#include <filesystem>

namespace muster {
namespace {

/// What mpirun will be given where it is started, and what rules out that muster starts the ranks itself.
void translate_options(Translation& t) {
  std::vector<std::string> words;
  for (const TypedOption& typed : t.typed) {
    const std::vector<std::string> passed = mpirun_words_of(t, typed);
    words.insert(words.end(), passed.begin(), passed.end());
  }
  if (!words.empty()) {
    t.set(kMpirunWords, {quoted_words(words), from_flag("mpirun")});
  }
}

/// mpirun binds the ranks that it starts.
void leave_binding(Translation& t) {
  const auto way = t.line.settings.find("mpi-start");
  const bool is_by_mpirun =
      way && (way->value == name_of(MpiStart::Agent) || way->value == name_of(MpiStart::Ssh));
  if (is_by_mpirun || t.settings.contains(kOnlyMpirun)) {
    t.settings.erase("numa-binding");
  }
}

/// In the place of the mpirun that muster has started, there is no other one.
Result<> check_no_circle(const Translation& t) {
  return t.snapshot.has(mpi::variable::kShared)
             ? Result<>(
                   Error{ErrorKind::NotExecutable,
                         "muster has started mpirun, and what PATH has by that name leads back "
                         "to muster; put the folder of Open MPI's mpirun in front"})
             : Result<>();
}

/// mpirun looks for a plain name in this folder as well.
constexpr const char* kParameterFolder = ".openmpi/amca-param-sets";

bool is_there(const Translation& t, const std::string& file) {
  const std::filesystem::path here(t.snapshot.working_directory);
  const std::filesystem::path home(t.snapshot.variable("HOME").value_or("/"));
  std::error_code ignored;  // what cannot be looked at cannot be read either
  const bool is_plain = file.find('/') == std::string::npos;
  return std::filesystem::exists(here / file, ignored) ||
         (is_plain && std::filesystem::exists(home / kParameterFolder / file, ignored));
}

/// mpirun goes on without a file that is not there.
Result<> check_files(const Translation& t) {
  const auto tune = t.find("tune");
  const std::vector<std::string> files =
      tune ? split(tune->value, ',') : std::vector<std::string>();
  for (const std::string& file : files) {
    if (!is_there(t, file)) {
      return wrong_value({file, tune->source}, "a file that can be read");
    }
  }
  return {};
}

}  // namespace

Result<> translate_mpirun(Translation& t) {
  for (const auto check : {check_no_circle, check_files}) {
    if (auto checked = check(t); !checked) {
      return checked;
    }
  }
  t.set("no-python", {"1", default_of("mpirun")});
  translate_options(t);
  const auto others = take_other_programs(t);
  if (!others) {
    return others.error();
  }
  leave_binding(t);
  return translate_placing(t, *others);
}

}  // namespace muster
