// Looks for what each way needs in this image.
#include "agent/own_ways.hpp"

#include "process/ask_program.hpp"

#include "base/text.hpp"
#include "base/log.hpp"
#include "modes/mpi_request.hpp"
#include "services/pmix.hpp"

namespace muster {
std::string MpiStartVote::contribution() const {
  if (job_.others.empty()) {
    return {};
  }
  std::vector<MethodReport> reports{report(job_.input->mode)};
  reports.reserve(1 + job_.others.size());
  for (const MpiStartMethod& other : job_.others) {
    reports.push_back(report(other.mode));
  }
  return write_ways(reports);
}

AgreedMethod MpiStartVote::agreed(const gang::Exchanged& merged) {
  const auto ways = merged.find(ways_key().name);
  return ways == merged.end()
             ? AgreedMethod()
             : read_agreed_way(ways->second).value();  // written by the same program
}

void MpiStartVote::say(const AgreedMethod& way, const Placement& placement) const {
  if (job_.others.empty() || placement.node_rank.value != 0 || placement.attempt != 0) {
    return;
  }
  const ChosenMode& mode = way.index == 0 ? job_.input->mode : job_.others.at(way.index - 1).mode;
  std::vector<std::string> reasons;
  if (const std::string& only_mpirun = mode.mpirun.only_mpirun.value; !only_mpirun.empty()) {
    reasons.push_back(only_mpirun + " is for mpirun alone");
  }
  reasons.insert(reasons.end(), way.why_not.begin(), way.why_not.end());
  log_info("ranks of MPI start by way of " + std::string(name_of(mode.way.value())) +
           (reasons.empty() ? "" : ", since " + join(reasons, ", and ")));
}

MethodReport MpiStartVote::report(const ChosenMode& mode) const {
  return {name_of(mode.way.value()), why_not(mode)};
}

std::string MpiStartVote::why_not(const ChosenMode& mode) const {
  if (mode.way == MpiStart::Pmix) {
    return why_no_pmix();
  }
  if (run_folder_.empty()) {
    return "there is no folder for its files (TMPDIR names another place)";
  }
  if (job_.gang.policy.job.most_nodes > 1 && !job_.gang.key && needs_token(mode)) {
    return "it needs a token where there are several nodes (--token-file)";
  }
  return mode.way == MpiStart::Ssh ? why_not_found({"mpirun", "ssh", "sshd"})
                                   : why_not_found({"mpirun"});
}

/// The server's own program looks for the library, as it will when it serves.
std::string MpiStartVote::why_no_pmix() const {
  const auto program = write_pmix_server(run_folder_);
  if (!program) {
    return program.error().message;
  }
  const auto probed = probe_program({*program, {"muster-pmix", "--probe"}}, inherited_, variables_);
  if (!probed) {
    return probed.error().message;
  }
  return probed->has_succeeded ? std::string() : probed->first_line;
}

/// Those that PATH lacks; sshd is usually where only root looks.
std::string MpiStartVote::why_not_found(const std::vector<std::string>& programs) const {
  const auto path = variables_.find("PATH");
  const std::string folders =
      (path == variables_.end() ? std::string("/usr/bin:/bin") : path->second) +
      ":/usr/sbin:/usr/local/sbin:/sbin";
  std::vector<std::string> missing;
  for (const std::string& program : programs) {
    if (!find_executable(program, folders)) {
      missing.push_back(program);
    }
  }
  return missing.empty() ? std::string() : "there is no " + join(missing, ", no ");
}

}  // namespace muster
