// Contributes and merges the ports, the job secret and the votes on how the ranks of MPI start.
#include "exchange/startup_values.hpp"

#include "base/random.hpp"
#include "base/text.hpp"
#include "modes/mpi_request.hpp"
#include "process/run_program.hpp"
#include "process/spawn.hpp"
#include "services/services.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace muster {
namespace {

template <typename Value>
void add_contribution(std::vector<gang::Contributed>& all, const StartupFacts& facts) {
  if constexpr (requires { Value::contribute(facts); }) {
    if (const auto own = Value::contribute(facts)) {
      all.push_back(contribution_of<Value>(*own));
    }
  }
}

template <typename... Values>
std::vector<gang::Contributed> contributions(const StartupFacts& facts, std::tuple<Values...>* /*table*/) {
  std::vector<gang::Contributed> all;
  (add_contribution<Values>(all, facts), ...);
  return all;
}

template <typename... Values>
gang::ExchangeKeys keys_of(std::tuple<Values...>* /*table*/) {
  return {key_of<Values>()...};
}

}  // namespace

gang::ExchangeKeys exchange_keys() {
  return keys_of(static_cast<ExchangedValues*>(nullptr));
}

std::vector<gang::Contributed> startup_contributions(const StartupFacts& facts) {
  return contributions(facts, static_cast<ExchangedValues*>(nullptr));
}

// Ports.

Result<std::vector<WorkerPort>> reserve_ports(int count) {
  if (count > static_cast<int>(kMostPortsOfNode)) {
    return Error{ErrorKind::System, "cannot reserve " + std::to_string(count) +
                                        " ports for the workers: a node has at most " +
                                        std::to_string(kMostPortsOfNode)};
  }
  return WorkerPort::reserve_several(count);
}

std::optional<NodePorts> PortsValue::contribute(const StartupFacts& facts) {
  if (facts.ports.empty() && !facts.run.job.may_need(&LaunchPlan::exchanges_sizes)) {
    return std::nullopt;
  }
  NodePorts node{{}, {}, facts.run.job.gang.config.node.slots, facts.run.options.host_name};
  for (const WorkerPort& port : facts.ports) {
    node.ports.push_back(port.number());
  }
  return node;
}

Result<std::vector<NodePorts>> PortsValue::merge(std::vector<Contribution<NodePorts>> all) {
  std::vector<NodePorts> nodes;
  for (Contribution<NodePorts>& node : all) {
    node.value.host = std::move(node.address);
    nodes.push_back(std::move(node.value));
  }
  return nodes;
}

// The job secret.

std::optional<std::string> JobSecretValue::contribute(const StartupFacts& facts) {
  const auto secret = random_digits();  // the run has drawn its marker before, so this does not fail
  return facts.run.job.may_need(&LaunchPlan::needs_secret) && secret ? std::optional(*secret) : std::nullopt;
}

Result<std::string> JobSecretValue::merge(std::vector<Contribution<std::string>> all) {
  if (all.empty() || all.front().value.size() != kMostOfNode) {
    return Error{ErrorKind::System, "of node 0 is missing or torn"};
  }
  return std::move(all.front().value);
}

// The way to start the ranks of MPI: looks for what each method needs in this image.

namespace {

/// Runs the PMIx server's own program, which looks for the library just as it does when it serves.
std::string why_no_pmix(const StartupFacts& facts) {
  const auto program = write_pmix_server(facts.run.run_folder);
  if (!program) {
    return program.error().message;
  }
  constexpr std::chrono::seconds kMostTime{5};
  constexpr std::size_t kMostText = 400;
  const auto probed = run_program({.command = {*program, "--probe"},
                                   .end = std::chrono::steady_clock::now() + kMostTime,
                                   .inherited = &facts.run.inherited,
                                   .variables = facts.run.variables});
  if (!probed) {
    return probed.error().message;
  }
  if (probed->end != ProgramAnswer::End::ByItself) {
    return "'" + *program + "' has not answered within " + std::to_string(kMostTime.count()) + " s";
  }
  return probed->status.ok() ? "" : probed->said.substr(0, std::min(probed->said.find('\n'), kMostText));
}

/// Names programs missing from PATH and from the sbin directories, where sshd usually is.
std::string why_not_found(const std::vector<std::string>& programs, const StartupFacts& facts) {
  const std::string folders =
      value_at(facts.run.variables, "PATH", "/usr/bin:/bin") + ":/usr/sbin:/usr/local/sbin:/sbin";
  std::vector<std::string> missing;
  for (const std::string& program : programs) {
    if (!find_executable(program, folders)) {
      missing.push_back(program);
    }
  }
  return missing.empty() ? std::string() : "there is no " + join(missing, ", no ");
}

/// The reason why the method does not work on this node; empty: it works.
std::string why_not(const ChosenMode& mode, const StartupFacts& facts) {
  if (mode.method == MpiStart::Pmix) {
    return why_no_pmix(facts);
  }
  if (facts.run.run_folder.empty()) {
    return "there is no folder for its files (TMPDIR names another place)";
  }
  if (facts.run.job.gang.config.job.most_nodes > 1 && !facts.run.job.gang.key && needs_token(mode)) {
    return "a job of several nodes needs a token for this (--token-file)";
  }
  return mode.method == MpiStart::Ssh ? why_not_found({"mpirun", "ssh", "sshd"}, facts)
                                      : why_not_found({"mpirun"}, facts);
}

using Votes = std::vector<Contribution<std::vector<MethodReport>>>;

/// Describes the first node on which the method does not work; empty: it works on all nodes.
std::string find_refusal(std::size_t method, const Votes& nodes) {
  for (const auto& node : nodes) {
    const MethodReport& report = node.value.at(method);
    if (!report.why_not.empty()) {
      return report.method + " does not work on node " + to_string(node.node) + ": " + report.why_not;
    }
  }
  return {};
}

}  // namespace

std::optional<std::vector<MethodReport>> MpiStartValue::contribute(const StartupFacts& facts) {
  if (facts.run.job.others.empty()) {
    return std::nullopt;
  }
  const auto report = [&](const ChosenMode& mode) {
    return MethodReport{name_of(mode.method.value()), why_not(mode, facts)};
  };
  std::vector<MethodReport> reports{report(facts.run.job.input->mode)};
  for (const MpiStartMethod& other : facts.run.job.others) {
    reports.push_back(report(other.mode));
  }
  return reports;
}

Result<AgreedMethod> MpiStartValue::merge(Votes all) {
  for (const auto& node : all) {
    if (node.value.size() != all.front().value.size()) {
      return Error{ErrorKind::BadData,
                   "the nodes were given different --mpi-start, or options for mpirun: node 0 has " +
                       std::to_string(all.front().value.size()) + " ways, node " + to_string(node.node) + " has " +
                       std::to_string(node.value.size())};
    }
  }
  AgreedMethod agreed;
  for (; !all.empty() && agreed.index < all.front().value.size(); ++agreed.index) {
    std::string refusal = find_refusal(agreed.index, all);
    if (refusal.empty()) {
      return agreed;
    }
    agreed.why_not.push_back(std::move(refusal));
  }
  return Error{ErrorKind::BadData, "no way to start ranks of MPI works on all nodes: " + join(agreed.why_not, "; ")};
}

}  // namespace muster
