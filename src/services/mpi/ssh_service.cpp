// The service "ssh": makes what mpirun needs to reach the other nodes by ssh, in the directory of the run. Each node
// makes a key, sends its public part to the others, and writes the keys that it trusts. sshd itself is a process of
// the plan, and starts when this service is ready.
#include "base/file_io.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "environment/snapshot.hpp"
#include "modes/ssh_files.hpp"
#include "process/claimed_name.hpp"
#include "process/worker_port.hpp"
#include "services/mpi/running_values.hpp"
#include "services/services.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>

namespace muster {
namespace {

namespace fs = std::filesystem;
namespace ssh_file = mpi::ssh_file;

/// Makes keys in the directory $1 for the program $2: ssh on node 0, sshd elsewhere. $3: the user's own key, if any.
/// Messages go to muster through the socket that is standard input.
constexpr const char* kMakeKeys = R"(
exec >&0 2>&0
umask 077
program=$2 key=$3
cd "$1" || exit 1
for needed in ssh-keygen "$program"; do
  command -v "$needed" >/dev/null || { echo "there is no program '$needed'"; exit 1; }
done
make() { ssh-keygen -q -t ed25519 -N '' -f "$1"; }
take() { cat <"$key" >"$1" && ssh-keygen -y -P '' -f "$1" >"$2"; }
if [ "$program" = ssh ]; then
  if [ "$key" ]; then take client_key client_key.pub; else make client_key; fi
else
  make host_key && "$program" -t -f /dev/null -h "$PWD/host_key" &&
    if [ "$key" ]; then take given_key authorized_keys && rm given_key; fi
fi && : >ready
)";

/// Beginning of the name by which a job claims a port, because two jobs of one host that check the port at the same
/// moment would both find it free.
constexpr const char* kPortClaim = "muster-sshd-port-";

class SshService final : public Service {
 public:
  explicit SshService(ServiceInput input) : input_(std::move(input)), folder_(input_.run_folder + "/ssh") {}

  Result<std::optional<PlanAdditions>> start(const LaunchPlan& plan) override {
    if (plan.placement.nodes == 1) {
      return std::optional<PlanAdditions>(std::in_place);  // no other node to reach
    }
    is_first_ = plan.placement.node_rank.value == 0;
    given_key_ = plan.parameters.at("ssh_key").value;
    if (!given_key_.empty()) {
      given_key_ = fs::absolute(given_key_).string();
    }
    TRY(make_folder());
    if (given_key_.empty() && !input_.is_protected) {
      return Error{ErrorKind::BadUsage,
                   "the nodes would tell each other keys over links that nothing protects; give "
                   "them a secret with --token-file, or a key with --set ssh_key=FILE"};
    }
    TRY(choose_port(plan.parameters.at("sshd_port").value));
    set_session(plan);
    return make_keys(is_first_ ? "ssh" : plan.parameters.at("sshd").value);
  }

  void on_merged(const gang::Value& value) override {
    if (value.id.key != SshKeysValue::kName) {
      return;
    }
    const auto nodes = read_agreed<SshKeysValue>(value.bytes);
    const auto written = nodes ? write_files(*nodes) : Result<>(nodes.error());
    input_.host->run_later(guarded([this, written] {
      if (written) {
        report_ready({});
      } else {
        report_failure(written.error());
      }
    }));
  }

  void stop() override {
    sidecar_.reset();
    port_.reset();
    claim_.reset();
  }

 private:
  std::string path_of(const char* name) const { return folder_ + "/" + name; }

  Result<> make_folder() {
    if (input_.run_folder.empty() || input_.run_folder.find_first_of(" \t\"'") != std::string::npos) {
      return Error{ErrorKind::System, "ssh needs a folder for its files without blanks and quotes in its path, not '" +
                                          input_.run_folder + "' (TMPDIR names another place)"};
    }
    std::error_code failed;
    fs::remove_all(folder_, failed);  // left by an earlier attempt
    if (::mkdir(folder_.c_str(), 0700) != 0) {
      return system_error("cannot make the folder '" + folder_ + "'", errno);
    }
    if (::geteuid() == 0) {
      // Debian's sshd needs it, and only its start script makes it. It belongs to the system and stays.
      (void)::mkdir("/run/sshd", 0755);
    }
    return {};
  }

  /// Takes the wanted port or, if that is in use, for example by another job of this host, a free one.
  Result<> choose_port(const std::string& wanted) {
    const auto number = parse_integer(wanted, 1, 65'535);
    if (!number) {
      return Error{ErrorKind::BadUsage, "sshd_port must be 1 to 65535, not '" + wanted + "'"};
    }
    port_number_ = static_cast<std::uint16_t>(*number);
    if (is_first_ ||
        (claim_name(kPortClaim + std::to_string(port_number_), claim_) && WorkerPort::check_is_free(port_number_))) {
      return {};
    }
    auto fresh = TRY(WorkerPort::reserve());
    log_warning("port " + wanted + " is taken on this host: sshd gets port " + std::to_string(fresh.number()));
    port_number_ = fresh.number();
    port_ = std::move(fresh);
    return {};
  }

  Result<std::optional<PlanAdditions>> make_keys(const std::string& program) {
    sidecar_ =
        TRY(input_.host->start_sidecar({"/bin/sh", {"sh", "-c", kMakeKeys, "sh", folder_, program, given_key_}},
                                       {[this](std::string_view bytes) { said_ += bytes; }, [this] { on_made(); }}));
    return std::optional<PlanAdditions>();
  }

  void on_made() {
    sidecar_.reset();
    if (!fs::exists(path_of("ready"))) {
      constexpr std::size_t kMostSaid = 500;
      report_failure({ErrorKind::System, "cannot make keys and configuration: " + one_line(trim(said_), kMostSaid)});
      return;
    }
    own_ = {input_.host_name, port_number_, read_regular_file(path_of(ssh_file::kHostKey) + ".pub").value_or("")};
    if (is_first_) {
      own_.port = 0;
      own_.key = given_key_.empty() ? read_regular_file(path_of(ssh_file::kClientKey) + ".pub").value_or("") : "";
    }
    if (auto contributed = input_.host->contribute(contribution_of<SshKeysValue>(own_)); !contributed) {
      report_failure(contributed.error());
    }
  }

  [[nodiscard]] Result<> write_files(const std::vector<mpi::SshNode>& nodes) const {
    return is_first_ ? write_clients(nodes) : write_servers(nodes);
  }

  [[nodiscard]] Result<> write_clients(const std::vector<mpi::SshNode>& nodes) const {
    const auto config = TRY(mpi::client_config(folder_, nodes));
    const auto known = TRY(mpi::known_hosts(nodes));
    TRY(write_whole_file(path_of(ssh_file::kClient), config));
    return write_whole_file(path_of(ssh_file::kKnownHosts), known);
  }

  [[nodiscard]] Result<> write_servers(const std::vector<mpi::SshNode>& nodes) const {
    const auto own = TRY(mpi::read_public_key(own_.key));
    TRY(given_key_.empty() ? trust(nodes.front()) : Result<>());
    TRY(write_whole_file(path_of(ssh_file::kSession), mpi::session_script(folder_, session_)));
    return write_whole_file(path_of(ssh_file::kServer), mpi::server_config(folder_, port_number_, own.user));
  }

  /// Collects the variables of ssh sessions: those that the plan gives to sshd, and those by which the shell finds
  /// mpirun's daemon. The user's own variables come from node 0, and are not written to any file.
  void set_session(const LaunchPlan& plan) {
    for (const WorkerPlan& worker : plan.workers) {
      session_.insert(worker.environment.begin(), worker.environment.end());
    }
    for (const char* const name : {"PATH", "LD_LIBRARY_PATH", kMarkerVariable}) {
      if (const auto found = input_.variables.find(name); found != input_.variables.end()) {
        session_.insert(*found);
      }
    }
  }

  [[nodiscard]] Result<> trust(const mpi::SshNode& first) const {
    const auto key = TRY(mpi::read_public_key(first.key));
    return write_whole_file(path_of(ssh_file::kAuthorizedKeys), key.words + "\n");
  }

  ServiceInput input_;
  std::string folder_;
  bool is_first_ = false;
  std::string given_key_;  ///< path of the user's key; empty: keys are made
  std::uint16_t port_number_ = 0;
  UniqueFd claim_;                  ///< of the wanted port
  std::optional<WorkerPort> port_;  ///< a free port, until the attempt is over
  std::unique_ptr<Sidecar> sidecar_;
  std::string said_;
  mpi::SshNode own_;
  std::map<std::string, std::string> session_;  ///< variables of ssh sessions
};

}  // namespace

std::unique_ptr<Service> make_ssh_service(const ServiceInput& input) {
  return std::make_unique<SshService>(input);
}

}  // namespace muster
