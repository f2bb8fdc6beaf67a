// Cuts a line of mpirun's at each ":".
#include "compat/programs.hpp"

#include "compat/tokens.hpp"
#include "compat/meaning.hpp"

#include "base/text.hpp"
#include "modes/mpi_request.hpp"
#include "mpi/agent_call.hpp"
#include "options/syntax.hpp"

#include <algorithm>

namespace muster {
namespace {

using Words = std::vector<std::string>;

constexpr int kMostProcesses = 10'000'000;

bool is_count(const std::string& name) {
  return name == "np" || name == "n";
}

/// Those that muster has to know for all programs at once.
bool is_about_hosts(const TypedOption& typed) {
  return !typed.option->is_passed && !is_count(typed.name) && typed.name != "x";
}

/// The words for mpirun that one program becomes, which begin with ":".
struct OtherProgram {
  int processes = 0;
  Words words;
};

/// The words for mpirun that one option becomes. Of what it sets only variables are for all programs: mpirun does the
/// rest.
Words take_option(Translation& t, const TypedOption& typed) {
  Translation own{t.snapshot, t.line, t.read_text, t.is_whole, {}, {}, {}};
  Words words = mpirun_words_of(own, typed);
  if (typed.name == "x") {
    t.settings.merge(own.settings);
  }
  return words;
}

/// How many processes, and the options for mpirun.
Result<OtherProgram> read_options(Translation& t, const std::vector<TypedOption>& options) {
  OtherProgram other;
  for (const TypedOption& typed : options) {
    if (is_about_hosts(typed)) {
      return Error{ErrorKind::BadUsage,
                   typed.source +
                       " is behind ':', expected it in front of the first program: it is "
                       "for all of them"};
    }
    if (is_count(typed.name)) {
      other.processes = parse_integer(typed.values.front(), 1, kMostProcesses).value_or(0);
      continue;
    }
    const Words words = take_option(t, typed);
    other.words.insert(other.words.end(), words.begin(), words.end());
  }
  return other;
}

Result<OtherProgram> read_program(Translation& t, const Words& words) {
  const auto read = read_tokens(*t.line.compat, words, nullptr);
  if (!read) {
    return read.error();
  }
  if (read->program.empty()) {
    return Error{ErrorKind::BadUsage, "there is no program behind ':'"};
  }
  auto other = read_options(t, read->typed);
  if (other && other->processes == 0) {
    return Error{
        ErrorKind::BadUsage,
        "'" + read->program.front() +
            "' has no number of processes, expected -np N for each program where there are "
            "several"};
  }
  if (other) {
    other->words.insert(other->words.begin(), {":", "-np", std::to_string(other->processes)});
    other->words.insert(other->words.end(), {"{muster}", std::string(mpi::kRankWord)});
    other->words.insert(other->words.end(), read->program.begin(), read->program.end());
  }
  return other;
}

}  // namespace

Result<int> take_other_programs(Translation& t) {
  Words& program = t.line.program;
  auto end = std::find(program.begin(), program.end(), ":");
  if (end == program.end()) {
    return 0;
  }
  const Words rest(end, program.end());
  program.erase(end, program.end());
  int processes = 0;
  Words words;
  for (auto at = rest.begin(); at != rest.end();) {
    const auto next = std::find(at + 1, rest.end(), ":");
    const auto other = read_program(t, Words(at + 1, next));
    if (!other) {
      return other.error();
    }
    processes += other->processes;
    words.insert(words.end(), other->words.begin(), other->words.end());
    at = next;
  }
  t.set(kMpirunPrograms, {quoted_words(words), from_flag("':'")});
  t.set(kOnlyMpirun, {"':'", from_flag("':'")});
  return processes;
}

}  // namespace muster
