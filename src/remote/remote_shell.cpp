// One line for a remote shell. All that differs between jobs goes over standard input instead, so
// there is nothing in the line that any shell could misread.
#include "remote/remote_shell.hpp"
#include "options/syntax.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

/// Of OpenSSH: the first value of an option counts, so these stand behind the user's own. The host is
/// lost after 30 s without an answer.
constexpr auto kSshOptions = std::to_array<const char*>({"-T",
                                                         "-x",
                                                         "-oBatchMode=yes",
                                                         "-oControlMaster=no",
                                                         "-oConnectTimeout=15",
                                                         "-oServerAliveInterval=10",
                                                         "-oServerAliveCountMax=3"});

bool is_ssh(const std::string& program) {
  return program.substr(program.rfind('/') + 1) == "ssh";
}

/// Puts the host where its place is. True if there was one.
bool fill_host(std::vector<std::string>& words, const std::string& host) {
  bool is_filled = false;
  const std::string_view place = kHostPlace;
  for (std::string& word : words) {
    for (std::size_t at = word.find(place); at != std::string::npos;
         at = word.find(place, at + host.size())) {
      word.replace(at, place.size(), host);
      is_filled = true;
    }
  }
  return is_filled;
}

/// Characters that stand for themselves within single quotes in every shell.
bool is_plain(const std::string& path) {
  return std::all_of(path.begin(), path.end(), [](char c) {
    return c > ' ' && c < '\x7f' && std::string_view("'\"\\!$`").find(c) == std::string_view::npos;
  });
}

}  // namespace

Result<RemoteShell> read_remote_shell(const Sourced<std::string>& text) {
  auto words = split_words(text);
  if (!words) {
    return words.error();
  }
  if (words->empty() || words->front().empty()) {
    return wrong_value(text, "a command such as 'ssh -p 2222'");
  }
  return RemoteShell{std::move(*words), text.source};
}

RemoteShell plain_ssh() {
  return {{"ssh"}, {}};
}

/// A step for each node, beside others of the allocation, which may use all that the job has there.
RemoteShell slurms_srun() {
  return {{"srun",
           "--overlap",
           "--nodes=1",
           "--ntasks=1",
           "--nodelist={host}",
           "--cpu-bind=none",
           "--quiet",
           "sh",
           "-c"},
          from_variable("SLURM_JOB_ID")};
}

std::vector<std::string> command_line_of(const RemoteShell& shell,
                                         const std::string& host,
                                         const std::string& command) {
  std::vector<std::string> line = shell.words;
  const bool is_filled = fill_host(line, host);
  if (is_ssh(line.front()) && !is_filled) {
    line.insert(line.end(), kSshOptions.begin(), kSshOptions.end());
  }
  if (!is_filled) {
    line.push_back(host);
  }
  line.push_back(command);
  return line;
}

std::string agent_command(const std::string& own_path) {
  const std::string in_path = std::string("exec muster ") + kAgentOption;
  if (own_path.empty() || !is_plain(own_path)) {
    return "exec sh -c '" + in_path + "'";
  }
  return "exec sh -c 'if test -x \"" + own_path + "\"; then exec \"" + own_path + "\" " +
         kAgentOption + "; fi; " + in_path + "'";
}

}  // namespace muster
