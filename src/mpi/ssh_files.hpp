#pragma once

// The files with which mpirun reaches other nodes by ssh: what stands in them, as texts. All lie in one folder of
// the run, and no file of the user's or of the image's is read or changed.

#include "base/endpoint.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::mpi {

/// A public key as ssh-keygen writes it, "ssh-ed25519 AAAA... user@host".
struct PublicKey {
  std::string words;  ///< "ssh-ed25519 AAAA..."
  std::string user;   ///< who has made it, as the C library of the image calls them
};

/// Fails for what is no line of that form. It may come from another node: no character of it means anything in
/// a configuration.
[[nodiscard]] Result<PublicKey> read_public_key(std::string_view line);

/// What a node tells the others about itself.
struct SshNode {
  std::string name;        ///< its host's
  std::uint16_t port = 0;  ///< where its sshd listens; 0: it has none
  std::string key;         ///< a line of its public key: its host's, or on node 0 that of the client
  std::string address{};   ///< where the others reach it; filled by the leader
};

/// The files' names in their folder.
namespace ssh_file {
inline constexpr const char* kHostKey = "host_key";
inline constexpr const char* kClientKey = "client_key";
inline constexpr const char* kAuthorizedKeys = "authorized_keys";
inline constexpr const char* kKnownHosts = "known_hosts";
inline constexpr const char* kSession = "session";
inline constexpr const char* kServer = "sshd_config";
inline constexpr const char* kClient = "ssh_config";
}  // namespace ssh_file

/// For sshd: keys alone, the one user, one port, and `kSession` whatever the client asks for. `folder` has no
/// blanks.
[[nodiscard]] std::string server_config(const std::string& folder, std::uint16_t port, const std::string& user);

/// A script of sh which runs the client's command in `folder`, with these variables and without those of ssh.
/// Sessions of sshd have no environment of the node's: PATH is needed to find orted there.
[[nodiscard]] std::string session_script(const std::string& folder,
                                         const std::map<std::string, std::string>& variables);

/// For ssh, of the nodes that have an sshd, by their names of the hostfile.
[[nodiscard]] Result<std::string> client_config(const std::string& folder, const std::vector<SshNode>& nodes);
[[nodiscard]] Result<std::string> known_hosts(const std::vector<SshNode>& nodes);

// The nodes of a job as mpirun is told of them.

/// Names by which MPI tells nodes apart, though two may be one machine: those of a name that an earlier one has
/// get another, and so does a "localhost", which mpirun takes for itself, but for the first.
[[nodiscard]] std::vector<std::string> name_apart(std::vector<std::string> names);
[[nodiscard]] std::vector<std::string> host_names(const std::vector<NodePorts>& nodes);

/// The hosts that mpirun may use: a line for each, its name as it is, and its slots.
[[nodiscard]] std::string write_hostfile(const std::vector<NodePorts>& nodes);

/// Which line of that names the host, counted from 0; -1: none.
[[nodiscard]] int find_in_hostfile(std::string_view hostfile, std::string_view host);

/// The smallest network that has all these addresses, such as "10.0.0.0/22": the form in which Open MPI takes
/// interfaces of several hosts, whatever these call them. Where that would be nearly every network, each
/// address by itself. Empty where one is none of version 4, of which alone Open MPI reads networks.
[[nodiscard]] std::string common_networks(const std::vector<std::string>& addresses);

/// The interfaces of a list such as "eth0,bond0" that are here, and those that are not. Given one that is not, Open
/// MPI goes without TCP.
struct NamedInterfaces {
  std::string here;
  std::string missing;
};
[[nodiscard]] NamedInterfaces find_interfaces(std::string_view names, const std::vector<std::string>& here);

}  // namespace muster::mpi
