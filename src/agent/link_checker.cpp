// Opens the port in the agent, so that partners that come early find it, and leaves the rest to a helper process.
#include "agent/link_checker.hpp"

#include "base/random.hpp"
#include "preflight/measure_links.hpp"
#include "process/worker_port.hpp"

#include <chrono>
#include <utility>

namespace muster {
namespace {

std::string refusal_of(int check) {
  return to_text(gang::LinkRefusal{check});
}

}  // namespace

LinkChecker::LinkChecker(ProcessLoop& loop, const RunContext& run, gang::Gang& gang)
    : run_(run), gang_(gang), helper_(loop.io(), loop.helpers()) {}

void LinkChecker::answer(const std::string& question) {
  const auto listens = gang::parse_link_listen(question);
  const auto plan = gang::parse_link_plan(question);
  if (listens && run_.job.gang.config.options.preflight.compares != gang::ComparesNodes::Never) {
    tell(listen(*listens));
  } else if (plan && listener_) {
    measure(*plan);
  } else {  // the number of the check is not known if the question cannot be read
    tell(listens ? refusal_of(listens->check) : plan ? refusal_of(plan->check) : "");
  }
}

/// Listens for partners. Ends an earlier check first, whose answers nobody waits for any more.
std::string LinkChecker::listen(const gang::LinkListen& question) {
  cancel();
  auto key = random_digits();
  auto opened = preflight::listen_for_links(question.address, WorkerPort::kLeast, WorkerPort::kMost);
  if (!key || !opened) {
    return refusal_of(question.check);
  }
  key_ = *std::move(key);
  listener_ = std::move(opened->socket);
  return to_text(gang::LinkPort{question.check, opened->port, key_});
}

void LinkChecker::measure(const gang::LinkPlan& plan) {
  constexpr std::chrono::seconds kLateness{1};  // of a process that waits for a CPU; its rounds still end on time
  const auto rounds = static_cast<int>(plan.steps.size()) + 1;  // one time more, in which partners meet
  // That time begins now, also for a helper process that has to wait for a CPU.
  const auto measure_all = [plan, key = key_, listener = listener_.get(), now = std::chrono::steady_clock::now()] {
    return is_helper_process() ? to_text(preflight::measure_links(listener, key, plan, now)) : "";
  };
  helper_.start({.work = measure_all,
                 .most_time = rounds * gang::kLinkRoundTime + kLateness,
                 .then =
                     [this, check = plan.check](const HelperTask::Answer& answer) {
                       tell(answer && !answer->empty() ? *answer : refusal_of(check));
                     },
                 .kept = {listener_.get()}});
  listener_.reset();  // the helper process has it
}

void LinkChecker::cancel() {
  helper_.cancel();
  listener_.reset();
}

}  // namespace muster
