// From a supervisor's action to what the gang hears of it.
#include "agent/success_telling.hpp"

namespace muster {

std::optional<gang::Succeeded> SuccessReports::message_for(const ReportSuccess& success) {
  gang::Succeeded message;
  message.is_last = success.is_last;
  if (!success.worker) {  // none here decides
    return message;
  }
  const WorkerPlan& planned = plan_.workers[*success.worker];
  const bool is_first = announced_roles_.insert(planned.role).second;
  if (!is_first && !success.is_last && planned.global_rank.value != 0) {
    return std::nullopt;
  }
  message.global_rank = planned.global_rank;
  message.local_rank = planned.local_rank;
  message.role = planned.role;
  message.pid = workers_.pid(*success.worker);
  message.run_time_seconds = workers_.run_time_seconds(*success.worker);
  return message;
}

}  // namespace muster
