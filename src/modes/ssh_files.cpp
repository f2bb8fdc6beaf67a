// Composes minimal configurations of ssh and sshd, independent of those of the user and the image.
#include "modes/ssh_files.hpp"

#include "base/lists.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>
#include <utility>

namespace muster::mpi {
namespace {

constexpr std::size_t kMostNameBytes = 256;

/// True for letters, digits and `others` alone.
bool is_plain(std::string_view text, std::string_view others) {
  return !text.empty() && text.size() <= kMostNameBytes && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter_or_digit(c) || others.find(c) != std::string_view::npos;
  });
}

/// Quotes a text as one word of sh, byte for byte.
std::string sh_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) {
    word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return word + "'";
}

/// The name of a node in known_hosts, independent of the address that ssh connects to.
std::string alias_of(std::size_t node) {
  return "muster-node-" + std::to_string(node);
}

Error bad_key() {
  return {ErrorKind::BadData, "what ssh-keygen has written is no public key"};
}

}  // namespace

Result<PublicKey> read_public_key(std::string_view line) {
  const std::vector<std::string> words = split(trim(line), ' ');
  constexpr std::size_t kMostKeyBytes = 4'096;  // RSA of 16,384 bits
  if (words.size() != 3 || line.size() > kMostKeyBytes || !is_plain(words[0], "-@.")) {
    return bad_key();
  }
  const bool is_base64 = std::all_of(words[1].begin(), words[1].end(),
                                     [](char c) { return is_letter_or_digit(c) || c == '+' || c == '/' || c == '='; });
  const std::string user = words[2].substr(0, words[2].rfind('@'));
  if (!is_base64 || !is_plain(user, "-_.+$")) {
    return bad_key();
  }
  return PublicKey{words[0] + " " + words[1], user};
}

std::string server_config(const std::string& folder, std::uint16_t port, const std::string& user) {
  const std::string here = folder + "/";
  return "Port " + std::to_string(port) + "\nHostKey " + here + ssh_file::kHostKey + "\nAuthorizedKeysFile " + here +
         ssh_file::kAuthorizedKeys + "\nAllowUsers " + user + "\nForceCommand exec /bin/sh " + here +
         ssh_file::kSession +
         // Keeps shells from reading the user's files: bash skips them in a nested shell, zsh and fish find none in
         // this directory.
         "\nSetEnv SHLVL=1 ZDOTDIR=" + folder + " XDG_CONFIG_HOME=" + folder +
         "\nPermitUserRC no\nPermitUserEnvironment no\n"
         "StrictModes no\n"  // of the folders above, such as a shared /tmp
         "UsePAM no\nPermitRootLogin prohibit-password\nPubkeyAuthentication yes\n"
         "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
         "AuthenticationMethods publickey\nPermitTTY no\nDisableForwarding yes\nPidFile none\n"
         "UseDNS no\nPrintMotd no\nPrintLastLog no\nLogLevel ERROR\nLoginGraceTime 30\n"
         "MaxStartups 1000\n"
         "ClientAliveInterval 10\nClientAliveCountMax 3\n";  // a session ends without its client
}

std::string session_script(const std::string& folder, const std::map<std::string, std::string>& variables) {
  std::string script =
      "command=$SSH_ORIGINAL_COMMAND\n"
      "unset SSH_ORIGINAL_COMMAND SSH_CLIENT SSH_CONNECTION MAIL SHLVL ZDOTDIR XDG_CONFIG_HOME\n";
  for (const auto& [name, value] : variables) {
    script += "export " + name + "=" + sh_word(value) + "\n";
  }
  // Open MPI 4.1 prepends ". ./.profile" to the command where the user's shell is sh.
  return script + "cd " + sh_word(folder) + "\nexec /bin/sh -c \"$command\"\n";
}

Result<std::string> client_config(const std::string& folder, const std::vector<SshNode>& nodes) {
  const std::string here = folder + "/";
  std::string text = "IdentityFile " + here + ssh_file::kClientKey + "\nUserKnownHostsFile " + here +
                     ssh_file::kKnownHosts +
                     "\nGlobalKnownHostsFile /dev/null\nStrictHostKeyChecking yes\nUpdateHostKeys no\n"
                     "IdentitiesOnly yes\nIdentityAgent none\nPreferredAuthentications publickey\nBatchMode yes\n"
                     "CheckHostIP no\nForwardAgent no\nForwardX11 no\nControlPath none\nLogLevel ERROR\n"
                     // A starting sshd refuses connections for a moment; ssh tries again after a second.
                     "ConnectTimeout 5\nConnectionAttempts 10\nServerAliveInterval 10\nServerAliveCountMax 3\n";
  const std::vector<std::string> names = name_apart(mapped(nodes, &SshNode::name));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].port == 0) {
      continue;
    }
    const auto key = read_public_key(nodes[i].key);
    if (!key || !is_plain(nodes[i].address, ".-_:") || !is_plain(names[i], ".-_:")) {
      return Error{ErrorKind::BadData, "ssh cannot use what node " + std::to_string(i) + " says about itself"};
    }
    text += "Host " + names[i] + "\n  HostName " + nodes[i].address + "\n  HostKeyAlias " + alias_of(i) + "\n  Port " +
            std::to_string(nodes[i].port) + "\n  User " + key->user + "\n";
  }
  return text;
}

Result<std::string> known_hosts(const std::vector<SshNode>& nodes) {
  std::string text;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].port == 0) {
      continue;
    }
    const auto key = TRY(read_public_key(nodes[i].key));
    text += alias_of(i) + " " + key.words + "\n";
  }
  return text;
}

// Composes names, slots and networks of a job's nodes.

namespace {

constexpr int kBits = 32;
/// A network with fewer common bits would include bridges and containers.
constexpr int kLeastBits = 8;

std::optional<std::uint32_t> number_of(const std::string& address) {
  const auto bytes = address_bytes(address);
  if (!bytes || bytes->size() != sizeof(std::uint32_t)) {
    return std::nullopt;
  }
  std::uint32_t number = 0;
  for (const char byte : *bytes) {
    number = number << 8U | static_cast<unsigned char>(byte);
  }
  return number;
}

std::string network(std::uint32_t address, int bits) {
  const std::uint32_t masked = bits == 0 ? 0 : address & ~std::uint32_t{0} << static_cast<unsigned>(kBits - bits);
  std::string text;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    text += (text.empty() ? "" : ".") + std::to_string(masked >> shift & 0xffU);
  }
  return text + "/" + std::to_string(bits);
}

}  // namespace

std::vector<std::string> name_apart(std::vector<std::string> names) {
  std::set<std::string> taken;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string& name = names[i];
    while (name.empty() || taken.contains(name)) {
      name.append(name.empty() ? "node" : "-node").append(std::to_string(i));
    }
    taken.insert({name, "localhost"});
  }
  return names;
}

std::vector<std::string> host_names(const std::vector<NodePorts>& nodes) {
  return name_apart(mapped(nodes, &NodePorts::name));
}

std::string write_hostfile(const std::vector<NodePorts>& nodes) {
  const std::vector<std::string> names = host_names(nodes);
  std::string text;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    text.append(names[i]).append(" slots=").append(std::to_string(nodes[i].slots)).append("\n");
  }
  return text;
}

int find_in_hostfile(std::string_view hostfile, std::string_view host) {
  int line = 0;
  while (!hostfile.empty()) {
    if (hostfile.substr(0, hostfile.find_first_of(" \n")) == host) {
      return line;
    }
    ++line;
    const std::size_t end = hostfile.find('\n');
    hostfile.remove_prefix(end == std::string_view::npos ? hostfile.size() : end + 1);
  }
  return -1;
}

std::string common_networks(const std::vector<std::string>& addresses) {
  std::set<std::uint32_t> numbers;
  for (const std::string& address : addresses) {
    const auto number = number_of(address);
    if (!number) {
      return {};
    }
    numbers.insert(*number);
  }
  if (numbers.empty()) {
    return {};
  }
  const int common = std::countl_zero(*numbers.begin() ^ *numbers.rbegin());
  if (common >= kLeastBits) {
    return network(*numbers.begin(), common);
  }
  std::string list;
  for (const std::uint32_t number : numbers) {
    list += (list.empty() ? "" : ",") + network(number, kBits);
  }
  return list;
}

NamedInterfaces find_interfaces(std::string_view names, const std::vector<std::string>& here) {
  NamedInterfaces found;
  for (const std::string& name : split(names, ',')) {
    const bool is_here = std::find(here.begin(), here.end(), name) != here.end();
    std::string& list = is_here ? found.here : found.missing;
    if (!name.empty()) {
      list.append(list.empty() ? "" : ",").append(name);
    }
  }
  return found;
}

}  // namespace muster::mpi
