// Arguments of mpirun to its remote shell, and files that muster writes for it: any words, names and variables, one
// a line.
#include "base/text.hpp"
#include "fuzz.hpp"
#include "modes/agent_call.hpp"
#include "modes/ssh_files.hpp"

#include <algorithm>
#include <set>

namespace muster::fuzz {
namespace {

using Words = std::vector<std::string>;

void check_call(const Words& words) {
  const auto call = mpi::parse_agent_call(words);
  if (!call) {
    require(call.error().exit_code() == 64, "it is a wrong command line");
    return;
  }
  require(words.size() >= 2, "a host and a command");
  require(call->host.find('@') == std::string::npos, "a host is no user");
  require(call->command.ends_with(words.back()), "the command is whole");
}

/// Names without what ends them in a hostfile are found where they stand. A hundred of them are enough.
void check_hostfile(const Words& words) {
  Words names;
  for (const std::string& word : words) {
    if (names.size() < 100) {
      names.push_back(word.substr(0, word.find(' ')));
    }
  }
  names = mpi::name_apart(std::move(names));
  require(std::set<std::string>(names.begin(), names.end()).size() == names.size(), "no two hosts have one name");
  std::vector<NodePorts> hosts;
  for (const std::string& name : names) {
    hosts.push_back({"", {}, static_cast<int>(name.size()), name});
  }
  const std::string hostfile = mpi::write_hostfile(hosts);
  for (std::size_t i = 0; i < names.size(); ++i) {
    require(mpi::find_in_hostfile(hostfile, names[i]) == static_cast<int>(i), "a host is found");
  }
}

/// Exported variables, renamed so that a shell passes them on, have their values after the names are restored.
void check_exports(const std::map<std::string, std::string>& variables) {
  const auto packed = mpi::with_shell_names(variables);
  std::map<std::string, std::string> there;
  std::size_t count = 0;
  for (const std::string& word : mpi::exports_of(variables)) {
    if (word != "-x") {
      require(word.find_first_of(" =;.%") == std::string::npos, "a name is a name");
      const auto& from = packed.contains(word) ? packed : variables;
      require(from.contains(word), "names alone are said");
      there.emplace(word, from.at(word));
      ++count;
    }
  }
  mpi::restore_names(there);
  require(there.size() == count, "none is lost");
  for (const auto& [name, value] : there) {
    require(variables.contains(name) && variables.at(name) == value, "each is as it was");
  }
}

void check_variables(const Words& words) {
  std::map<std::string, std::string> variables;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    variables[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
  }
  check_exports(variables);
  const auto rank = mpi::environment_of_mpi_rank(variables);
  for (const char* const own : {mpi::variable::kSecret, mpi::variable::kEndpoint, mpi::variable::kDaemons,
                                mpi::variable::kHostfile, mpi::variable::kShared}) {
    require(!rank.contains(own), "what only muster is told stays there");
  }
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  if (size == 0) {
    return 0;
  }
  const std::string_view text = fuzz::text_of(data, size);
  const fuzz::Words words = split(text, '\n');
  fuzz::check_call(words);
  fuzz::check_hostfile(words);
  fuzz::check_variables(words);
  (void)mpi::find_in_hostfile(text, words.front());
  const std::string networks = mpi::common_networks(words);
  fuzz::require(networks.find_first_not_of("0123456789./,") == std::string::npos, "networks");
  return 0;
}
