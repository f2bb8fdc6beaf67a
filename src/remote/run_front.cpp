// Splits the front in guard and agent, as every muster.
#include "process/marker.hpp"
#include "remote/front_agent.hpp"

#include "remote/front.hpp"

namespace muster {

Result<int> run_remote_launcher(const RemoteJob& job,
                                const RunOptions& options,
                                const Inherited& inherited,
                                const std::map<std::string, std::string>& variables,
                                const LauncherExitReport& words) {
  const std::string marker = make_marker();
  const GuardSetup setup{marker,
                         options.stop_signals.all(),
                         inherited.ignored_signals,
                         options.grace + kMoreThanTheirGrace};
  return run_guarded(setup, [&](GuardLink link) {
    const RemoteLauncherInput input{job, options, inherited, variables, words, marker};
    return RemoteLauncher(input, std::move(link)).run();
  });
}

}  // namespace muster
