#pragma once

// Composes the files with which mpirun reaches other nodes by ssh, as texts. All are written to one directory of the
// run; no file of the user or the image is read or changed.

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
  std::string user;   ///< who created it, as named by the C library of the image
};

/// Fails for a line of another form. The line may come from another node: accepted characters have no special meaning
/// in a configuration file.
[[nodiscard]] Result<PublicKey> read_public_key(std::string_view line);

/// Data that a node publishes about itself.
struct SshNode {
  std::string name;        ///< host name
  std::uint16_t port = 0;  ///< on which its sshd listens; 0: it has no sshd
  std::string key;         ///< public key line: the host key, or on node 0 the client's key
  std::string address{};   ///< reachable from the others; filled by the leader
};

/// Names of the files in their directory.
namespace ssh_file {
inline constexpr const char* kHostKey = "host_key";
inline constexpr const char* kClientKey = "client_key";
inline constexpr const char* kAuthorizedKeys = "authorized_keys";
inline constexpr const char* kKnownHosts = "known_hosts";
inline constexpr const char* kSession = "session";
inline constexpr const char* kServer = "sshd_config";
inline constexpr const char* kClient = "ssh_config";
}  // namespace ssh_file

/// Configuration of sshd: public keys only, one user, one port, and `kSession` whatever the client requests. `folder`
/// contains no blanks.
std::string server_config(const std::string& folder, std::uint16_t port, const std::string& user);

/// An sh script that runs the client's command in `folder`, with these variables and without those of ssh. An sshd
/// session does not have the node's environment, and orted is found there by PATH.
std::string session_script(const std::string& folder, const std::map<std::string, std::string>& variables);

/// Configuration of ssh for the nodes that have an sshd, by their names in the hostfile.
[[nodiscard]] Result<std::string> client_config(const std::string& folder, const std::vector<SshNode>& nodes);
[[nodiscard]] Result<std::string> known_hosts(const std::vector<SshNode>& nodes);

// The host list for mpirun.

/// Makes node names unique for MPI, though two nodes may be on one machine: duplicates are renamed, and so is every
/// "localhost" but the first, which mpirun takes for itself.
std::vector<std::string> name_apart(std::vector<std::string> names);
std::vector<std::string> host_names(const std::vector<NodePorts>& nodes);

/// Writes mpirun's hostfile: a line for each node, with its name unchanged and its slots.
std::string write_hostfile(const std::vector<NodePorts>& nodes);

/// Line of the hostfile that names the host, counted from 0; -1: none.
int find_in_hostfile(std::string_view hostfile, std::string_view host);

/// The smallest network with all these addresses, such as "10.0.0.0/22": the form in which Open MPI takes interfaces
/// of several hosts, whatever their names. Where that would be nearly every network, each address by itself. Empty
/// unless all are IPv4, because Open MPI reads only IPv4 networks.
std::string common_networks(const std::vector<std::string>& addresses);

/// The interfaces of a list such as "eth0,bond0" that exist here, and the missing ones: given a missing one, Open MPI
/// runs without TCP.
struct NamedInterfaces {
  std::string here;
  std::string missing;
};
NamedInterfaces find_interfaces(std::string_view names, const std::vector<std::string>& here);

}  // namespace muster::mpi
