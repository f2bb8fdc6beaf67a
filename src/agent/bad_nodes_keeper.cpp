// Writes bad nodes one after the other.
#include "agent/bad_nodes_keeper.hpp"

#include "base/log.hpp"
#include "preflight/bad_nodes.hpp"

#include <chrono>

namespace muster {
namespace {

/// Limit for writing the file: another job may have locked it, and its file system may hang.
constexpr std::chrono::seconds kKeepTimeout{5};
/// Name of pending work.
constexpr const char* kBadNodes = "the file of --bad-nodes";

}  // namespace

void BadNodesKeeper::keep(const gang::KeepBadNode& wanted) {
  const auto work = [this, wanted]() -> std::string {
    if (!is_helper_process()) {  // the lock, or the file system, would hold up the agent
      return "cannot write '" + path_ + "': no process can be made for it";
    }
    const auto kept =
        preflight::keep_bad_node(path_, {wanted.machine, "", wanted.reason}, std::chrono::system_clock::now());
    return kept ? std::string() : kept.error().message;
  };
  pending_.add(kBadNodes);
  task_.add({work, kKeepTimeout, [this](const HelperTask::Answer& problem) {
               if (!problem || !problem->empty()) {
                 log_warning(problem
                                 ? *problem
                                 : "cannot write '" + path_ +
                                       "' within 5 s: its file system does not answer, or another job has it locked");
               }
               if (task_.is_idle()) {
                 pending_.remove(kBadNodes);
               }
             }});
}

}  // namespace muster
