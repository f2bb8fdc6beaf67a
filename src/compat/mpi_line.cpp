// Makes the line of mpirun that horovodrun makes, and reads it. Facts: horovod/runner/mpi_run.py of Horovod 0.28.
#include "compat/mpi_line.hpp"

#include "compat/tokens.hpp"

#include "base/text.hpp"
#include "modes/mpi_request.hpp"
#include "options/syntax.hpp"

#include <algorithm>
#include <array>

namespace muster::horovodrun {
namespace {

using Strings = std::vector<std::string>;

/// A word of mpirun's without its dashes and its value.
std::string bare_name(const std::string& word) {
  const std::size_t start = std::min(word.find_first_not_of('-'), word.size());
  return word.substr(start, word.find('=') - start);
}

/// What horovodrun tells Open MPI where its user says nothing of it.
void add_defaults(Strings& words, const Strings& said, bool is_binding_said) {
  const std::array<Strings, 4> defaults = {Strings{"--bind-to", "none"},
                                           Strings{"--map-by", "slot"},
                                           Strings{"--mca", "pml", "ob1"},
                                           Strings{"--mca", "btl", "^openib"}};
  for (const Strings& theirs : defaults) {
    const bool is_binding = theirs.size() == 2;
    const std::string key = bare_name(theirs[is_binding ? 0 : 1]);
    const bool is_said = std::any_of(
        said.begin(), said.end(), [&](const std::string& word) { return bare_name(word) == key; });
    if (!is_said && !(is_binding && is_binding_said)) {
      words.insert(words.end(), theirs.begin(), theirs.end());
    }
  }
}

/// The line that horovodrun makes for mpirun, but for what is so anyway.
Result<Strings> mpirun_line_of(const Translation& t) {
  Strings words;
  for (const auto& [name, theirs] : {std::pair("num-proc", "-np"),
                                     std::pair("hosts", "-H"),
                                     std::pair("hostfile", "--hostfile")}) {
    if (const auto value = t.find(name)) {
      words.insert(words.end(), {theirs, value->value});
    }
  }
  Strings said;
  for (const char* const name : {"binding-args", "mpi-args"}) {
    const auto options = t.find(name);
    const auto more = options ? split_words(*options) : Result<Strings>(Strings());
    if (!more) {
      return more.error();
    }
    said.insert(said.end(), more->begin(), more->end());
  }
  add_defaults(words, said, t.find("binding-args").has_value());
  words.insert(words.end(), said.begin(), said.end());
  return words;
}

}  // namespace

Result<> translate_mpi(Translation& t, const Sourced<std::string>& mpi) {
  const CompatLauncher& mpirun = *find_front_end("mpirun");
  const auto words = mpirun_line_of(t);
  if (!words) {
    return words.error();
  }
  auto tokens = read_tokens(mpirun, *words, nullptr);
  if (!tokens) {
    return tokens.error();
  }
  if (!tokens->program.empty()) {
    const auto extra = t.find("mpi-args");
    return wrong_value(extra ? *extra : t.given.at("binding-args"),
                       "options of mpirun and no program");
  }
  if (auto translated = translate_as(mpirun, t, std::move(*tokens)); !translated) {
    return translated;
  }
  t.set("mode", {kMpiMode, mpi.source});
  return {};
}

}  // namespace muster::horovodrun
