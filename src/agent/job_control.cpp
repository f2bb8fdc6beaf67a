// Turns requests of the control socket into events of the gang, and its answers into lines.
#include "agent/job_control.hpp"

#include "agent/run_folder.hpp"
#include "base/endpoint.hpp"
#include "base/file_io.hpp"
#include "base/format_text.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "control/status.hpp"
#include "environment/snapshot.hpp"
#include "hang/verdict.hpp"
#include "plan/launch_plan.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <utility>

namespace muster {
namespace {

constexpr const char* kNoticeFile = "suspend.json";
constexpr const char* kFlagFile = "suspend.flag";
constexpr int kNoticeVersion = 1;
/// Limit of an announced text, below that of the gang's message.
constexpr std::size_t kMostAnnouncedBytes = 1'500;
/// The answer after a failure and after a stop, since no attempt follows a notice.
constexpr const char* kWorkersAreEnding = "its workers are being ended already";

/// Limit of the program and its arguments in the answer to a hello.
constexpr std::size_t kMostProgramBytes = 500;

/// Timeout for the nodes' answers; later ones are missing in the reply.
constexpr std::chrono::seconds kStatusTimeout{5};

/// The notice's file as JSON. Seconds are written as decimals, not in exponential form.
std::string notice_text(const JobNotice& notice, double within, int attempt) {
  return "{\"version\":" + std::to_string(kNoticeVersion) + ",\"attempt\":" + std::to_string(attempt) + "," +
         format_text("\"deadline\":%.3f,\"within\":%.3f", notice.deadline, within) +
         ",\"reason\":" + json::serialize(json::value(valid_utf8(notice.source))) + "}\n";
}

/// Changes the flag's byte in place, because a worker's library may have created and mapped the file.
Result<> write_flag(const std::string& path, char flag) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kPrivateFileMode));
  if (!file || ::pwrite(file.get(), &flag, 1, 0) != 1) {
    return system_error("cannot write '" + path + "'", errno);
  }
  return {};
}

/// The job's program for users: that of the first worker of this node, with masked arguments.
std::string program_of(const LaunchPlan& plan) {
  return plan.workers.empty() ? ""
                              : one_line(join(masked_arguments(plan.workers.front().argv), " "), kMostProgramBytes);
}

/// The folder in which the job was started; empty if it has been removed.
std::string current_folder() {
  std::error_code ignored;
  return valid_utf8(std::filesystem::current_path(ignored).string());
}

}  // namespace

JobControl::JobControl(ProcessLoop& loop, PendingWork& pending, const RunContext& run, gang::Gang& gang,
                       const StatusReporter& reporter)
    : gang_(gang),
      reporter_(reporter),
      run_folder_(run.run_folder),
      job_(run.job.gang.config),
      worker_signal_(run.options.suspend.worker_signal),
      guard_(loop.guard()),
      since_(control::now_since_1970()),
      program_(program_of(run.job.plan)),
      folder_(current_folder()),
      server_(loop.io()),
      status_question_{Timer(loop.io())},
      stacks_question_{Timer(loop.io())},
      nccl_question_{Timer(loop.io())},
      hangs_(loop, pending, run) {
  hangs_.quiet_seconds = [&reporter] { return quiet_seconds(reporter.describe_node()); };
  hangs_.gather = std::bind_front(&JobControl::gather, this);
  hangs_.report = std::bind_front(&JobControl::report, this);
}

void JobControl::start() {
  if (run_folder_.empty()) {
    return;
  }
  server_.on_request = [this](const control::Request& request, const ucred& client, const Reply& reply) {
    if (end_) {
      reply(control::write_refusal("the job is ending: " + *end_));
      return;
    }
    std::visit([&](const auto& known) { take(known, client, reply); }, request);
  };
  const auto started = server_.start(path_of(control::kSocketName));
  is_listening_ = started.has_value();
  if (!started) {
    log_warning("this job cannot be asked from outside: " + started.error().message);
  }
}

void JobControl::end(const std::string& why) {
  end_ = why;
  is_stopping_ = true;
  answer_suspends({{"end", why}});
  hangs_.stop();
  for (Question* const question : {&status_question_, &stacks_question_, &nccl_question_}) {
    answer(*question, "the job is ending: " + why);
  }
  hangs_.hook().end();
}

void JobControl::begin_attempt(LaunchPlan& plan) {
  is_stopping_ = false;
  hangs_.begin_attempt(plan);
  if (plan.is_transparent || run_folder_.empty()) {
    return;
  }
  for (WorkerPlan& worker : plan.workers) {
    worker.environment.emplace(kSuspendFileVariable, path_of(kNoticeFile));
    if (is_listening_) {
      worker.environment.emplace(kControlSocketVariable, path_of(control::kSocketName));
    }
  }
}

void JobControl::note_stopping() {
  is_stopping_ = true;
  hangs_.stop();
  answer_suspends({{"end", kWorkersAreEnding}});
}

// --- Requests -----------------------------------------------------------------------------------

void JobControl::take(const control::HelloRequest& /*request*/, const ucred& /*client*/, const Reply& reply) {
  reply(control::write_answer(job_document()));
}

void JobControl::take(const control::StatusRequest& /*request*/, const ucred& /*client*/, const Reply& reply) {
  ask_nodes(status_question_, "", [this, reply](const std::string& why_not) {
    reply(why_not.empty() ? control::write_answer(status_answer()) : control::write_refusal(why_not));
  });
}

void JobControl::take(const control::StacksRequest& request, const ucred& /*client*/, const Reply& reply) {
  const bool asks_nccl = request.nccl != control::AskNccl::No;
  Question& question = asks_nccl ? nccl_question_ : stacks_question_;
  const char* const with_nccl = request.nccl == control::AskNccl::Always ? kNcclOfAnyVersion : kNcclToo;
  ask_nodes(question, asks_nccl ? with_nccl : kStacksAndRecorders, [=, this, &question](const auto& why_not) {
    if (!why_not.empty()) {
      reply(control::write_refusal(why_not));
      return;
    }
    const hang::Evidence known = evidence(question);
    const json::object found = stacks_answer(known, judge(known));
    hangs_.record().keep("muster stacks", found);
    reply(control::write_answer(found));
  });
}

void JobControl::take(const control::StopRequest& request, const ucred& client, const Reply& reply) {
  const std::string requester =
      "user " + std::to_string(client.uid) + (client.pid > 0 ? ", pid " + std::to_string(client.pid) : "");
  log_info("muster stop (" + requester + "): ending the job");
  gang_.notify(gang::StopSignal{SIGTERM, /*workers_know=*/false, request.grace, requester});
  reply(control::write_answer());
}

/// With a notice in force the earlier deadline counts; to a later one the gang may never answer, so this does.
void JobControl::take(const control::SuspendRequest& request, const ucred& /*client*/, const Reply& reply) {
  const std::string source = "muster suspend" + (request.reason.empty() ? "" : ": " + request.reason);
  gang_.notify(gang::SuspendRequested{source, request.within});
  const bool is_earlier =
      notice_ && request.within &&
      control::now_since_1970() + std::chrono::duration<double>(*request.within).count() < notice_->deadline;
  if (is_stopping_) {
    reply(control::write_answer({{"end", kWorkersAreEnding}}));
  } else if (notice_ && !is_earlier) {
    reply(control::write_answer({{"notice", notice_document()}}));
  } else {
    suspend_replies_.push_back(reply);
  }
}

void JobControl::take(const control::WithdrawRequest& /*request*/, const ucred& /*client*/, const Reply& reply) {
  if (!notice_) {
    reply(control::write_refusal("there is no notice that could be withdrawn"));
    return;
  }
  gang_.notify(gang::SuspendRequested{"muster suspend --cancel", {}, /*is_withdrawn=*/true});
  suspend_replies_.push_back(reply);
}

void JobControl::take(const control::SavedRequest& request, const ucred& client, const Reply& reply) {
  auto process = reporter_.name_process(client.pid);
  if (!process && request.rank) {
    if (*request.rank >= reporter_.rank_count()) {
      reply(control::write_refusal("the job has no rank " + std::to_string(*request.rank)));
      return;
    }
    process = "rank " + std::to_string(*request.rank);
  }
  gang_.notify(gang::WorkSaved{0, process.value_or("pid " + std::to_string(client.pid))});
  reply(control::write_answer());
}

// --- The state of the job -----------------------------------------------------------------------

/// Asks all nodes, or, if the question is being asked already, waits for the same answer.
void JobControl::ask_nodes(Question& question, const char* what, std::function<void(const std::string& why_not)> then) {
  question.waiting.push_back(std::move(then));
  if (question.waiting.size() > 1) {
    return;
  }
  question.number = ++questions_asked_;
  question.lines.clear();
  question.ranks.clear();
  question.awaited.clear();
  question.missing = job_.job.most_nodes;
  question.timer.start(kStatusTimeout, [this, &question] {
    answer(question, question.lines.empty()
                         ? "no node has answered in time, not even this one: node 0, which asks all, "
                           "may hang"
                         : "");
  });
  gang_.notify(gang::StatusQuery{question.number, what});
}

void JobControl::take_status(const gang::StatusReport& status) {
  Question& question = status.number == stacks_question_.number ? stacks_question_
                       : status.number == nccl_question_.number ? nccl_question_
                                                                : status_question_;
  if (question.waiting.empty() || status.number != question.number) {
    return;  // too late
  }
  const std::string line = control::add_text(status.text, "differs", status.differs);
  question.lines.push_back(control::add_text(line, "suspect", status.suspect));
  question.ranks.push_back(status.ranks);
  question.missing = status.missing;
  question.awaited = status.awaited;
  if (question.missing == 0) {
    answer(question);
  }
}

void JobControl::answer(Question& question, const std::string& why_not) {
  question.timer.cancel();
  for (const auto& then : std::exchange(question.waiting, {})) {
    then(why_not);
  }
}

json::object JobControl::status_answer() const {
  json::array nodes = control::join_nodes(status_question_.lines);
  const auto unread = static_cast<int>(status_question_.lines.size() - nodes.size());
  json::object answer{
      {"job", job_document()}, {"nodes", std::move(nodes)}, {"missing", status_question_.missing + unread}};
  if (unread == 0 && !status_question_.awaited.empty()) {
    answer["missing_nodes"] = status_question_.awaited;
  }
  return answer;
}

/// Joins what the nodes have answered about their ranks.
hang::Evidence JobControl::evidence(const Question& question) {
  hang::Evidence evidence = hang::join_lines(question.lines, question.ranks);
  evidence.missing_nodes = evidence.missing == 0 ? question.awaited : "";  // else of some an unreadable answer has come
  evidence.missing += question.missing;
  return evidence;
}

/// Judges the ranks, unless these may wait for those of nodes that have not answered.
std::vector<std::string> JobControl::judge(const hang::Evidence& evidence) {
  return evidence.missing > 0
             ? std::vector<std::string>()
             : hang::describe(hang::judge(evidence.ranks), evidence, static_cast<int>(evidence.ranks.size()));
}

json::object JobControl::stacks_answer(const hang::Evidence& evidence,
                                       const std::vector<std::string>& sentences) const {
  json::object answer{{"job", job_document()},
                      {"stacks", hang::stacks_document(evidence.ranks)},
                      {"verdict", json::array(sentences.begin(), sentences.end())},
                      {"missing", evidence.missing}};
  if (!evidence.missing_nodes.empty()) {
    answer["missing_nodes"] = evidence.missing_nodes;
  }
  if (!evidence.nccl.empty()) {
    answer["nccl"] = evidence.nccl;
  }
  return answer;
}

json::object JobControl::job_document() const {
  const JobFacts& job = job_.job;
  json::object document{{"version", job_.version}, {"pid", guard_}, {"nodes", job.most_nodes}, {"since", since_}};
  document["program"] = program_;
  document["folder"] = folder_;
  document["state"] = reporter_.describe_node().state;
  if (job.job_id != kNoJobId && !job.job_id.empty()) {
    document["id"] = job.job_id;
  }
  if (job.most_nodes > 1) {
    document["rendezvous"] = join_endpoint(job_.host, std::to_string(job_.port));
  }
  if (notice_) {
    document["notice"] = notice_document();
  }
  return document;
}

json::object JobControl::notice_document() const {
  return {{"source", notice_->source}, {"deadline", notice_->deadline}, {"told", describe_delivery()}};
}

// --- Hangs --------------------------------------------------------------------------------------

void JobControl::gather(bool asks_recorders, std::function<void(hang::Evidence)> then) {
  ask_nodes(stacks_question_, asks_recorders ? kStacksAndRecorders : kStacks,
            [this, then = std::move(then)](const std::string& /*why_not*/) { then(evidence(stacks_question_)); });
}

void JobControl::report(const hang::StallDetector::Step& step) {
  if (step.is_moving) {
    hangs_.record().forget();
  }
  std::optional<gang::StallBegun> stall;
  if (const auto& look = step.look) {
    hangs_.record().keep(*look, stacks_answer(evidence(stacks_question_), look->verdict),
                         /*is_new=*/!step.lines.empty() || step.hang);
    stall = look->begins_stall ? std::optional(gang::StallBegun{look->ranks}) : std::nullopt;
  }
  for (const std::string& line : step.lines) {
    gang_.notify(gang::Announced{shortened(line, kMostAnnouncedBytes), std::exchange(stall, {})});
  }
  if (step.hang) {
    gang_.notify(gang::Hung{0, shortened(step.hang->why, kMostAnnouncedBytes), step.hang->ranks});
  }
}

// --- A notice -----------------------------------------------------------------------------------

void JobControl::take_notice(const gang::SuspendNotice& notice, int attempt) {
  const double within = std::chrono::duration<double>(notice.within).count();
  notice_.reset();
  if (!notice.is_withdrawn) {
    notice_ = JobNotice{notice.source, control::now_since_1970() + within};
  }
  Result<> written;
  if (!run_folder_.empty()) {
    make_again(run_folder_);
  }
  if (run_folder_.empty()) {
    written = Error{ErrorKind::System, "there is no folder for it (TMPDIR names another place)"};
  } else if (notice_) {
    written = write_whole_file(path_of(kNoticeFile), notice_text(*notice_, within, attempt));
  }
  is_flag_read_ = is_flag_read_ || (!has_written_flag_ && ::access(path_of(kFlagFile).c_str(), F_OK) == 0);
  if (written) {  // last, since the library checks the flag first and then reads the file
    has_written_flag_ = true;
    written = write_flag(path_of(kFlagFile), notice_ ? '\1' : '\0');
  }
  if (!notice_) {
    (void)::unlink(path_of(kNoticeFile).c_str());
  }
  if (!written) {
    log_warning("the workers cannot read the notice: " + written.error().message);
  }
}

void JobControl::confirm_notice(bool is_signal_caught) {
  is_signal_caught_ = is_signal_caught;
  answer_suspends(notice_ ? json::object{{"notice", notice_document()}} : json::object());
}

void JobControl::answer_suspends(const json::object& document) {
  for (const Reply& reply : std::exchange(suspend_replies_, {})) {
    reply(control::write_answer(document));
  }
}

std::string JobControl::describe_delivery() const {
  const std::string written = "a file was written and the flag set";
  if (worker_signal_) {
    const std::string signal = signal_name(*worker_signal_);
    return written + (is_signal_caught_ ? ", and " + signal + " goes to the programs that catch it"
                                        : "; no program of this node catches " + signal + " yet");
  }
  return written + (is_flag_read_ ? "; a worker of this node asks for it"
                                  : "; no worker of this node has asked through the library yet, and a program that "
                                    "looks for the file is not seen; a job that is started with --tell-workers-by USR1 "
                                    "or TERM gets a signal, too");
}

}  // namespace muster
