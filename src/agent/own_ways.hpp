#pragma once

// By which ways ranks of MPI could start on this node, and which one all nodes have agreed on. Private to run/.

#include "process/spawn.hpp"

#include "gang/exchange_values.hpp"
#include "agent/run.hpp"
#include "exchange/exchanged_ways.hpp"

#include <map>
#include <string>

namespace muster {

class MpiStartVote {
 public:
  /// All of it outlives this. `run_folder` may be empty.
  MpiStartVote(const JobPlan& job,
               const Inherited& inherited,
               const std::map<std::string, std::string>& variables,
               const std::string& run_folder)
      : job_(job), inherited_(inherited), variables_(variables), run_folder_(run_folder) {}

  /// What this node tells the others, after a look at what is installed, which takes some 10 ms, and 5 s at most;
  /// empty: there is only one way.
  [[nodiscard]] std::string contribution() const;

  /// The first one where nothing had to be agreed on.
  [[nodiscard]] static AgreedMethod agreed(const gang::Exchanged& merged);
  /// On the first node, before the first attempt, where there was something to agree on.
  void say(const AgreedMethod& way, const Placement& placement) const;

 private:
  [[nodiscard]] MethodReport report(const ChosenMode& mode) const;
  /// Empty: it works here.
  [[nodiscard]] std::string why_not(const ChosenMode& mode) const;
  [[nodiscard]] std::string why_no_pmix() const;
  [[nodiscard]] std::string why_not_found(const std::vector<std::string>& programs) const;

  const JobPlan& job_;
  const Inherited& inherited_;
  const std::map<std::string, std::string>& variables_;
  const std::string& run_folder_;
};

}  // namespace muster
