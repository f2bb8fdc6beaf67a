// Turns requests of the control socket into events of the gang, and its answers into lines.
#include "agent/job_control.hpp"

#include "agent/run_folder.hpp"
#include "base/file_io.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "environment/fabric.hpp"
#include "environment/snapshot.hpp"
#include "hang/evidence.hpp"
#include "hang/verdict.hpp"
#include "process/descendants.hpp"
#include "run/run_context.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <utility>

namespace muster {
namespace {

// Questions about ranks, see gang::StatusQuery.
constexpr const char* kStacks = "stacks";
constexpr const char* kStacksAndRecorders = "recorders";
constexpr const char* kNcclToo = "nccl";
constexpr const char* kNcclOfAnyVersion = "nccl=yes";
constexpr std::array<std::string_view, 5> kQuestions{"", kStacks, kStacksAndRecorders, kNcclToo, kNcclOfAnyVersion};
constexpr const char* kNoticeFile = "suspend.json";
constexpr const char* kFlagFile = "suspend.flag";
constexpr int kNoticeVersion = 1;
/// Below the limit of the gang's message.
constexpr std::size_t kMostAnnouncedBytes = 1'500;
/// The answer after a failure and after a stop, since no attempt follows a notice.
constexpr const char* kWorkersAreEnding = "its workers are being ended already";

/// Timeout for the nodes' answers; later ones are missing in the reply.
constexpr std::chrono::seconds kStatusTimeout{5};
/// Timeout for reading /proc and files in memory.
constexpr std::chrono::seconds kHelperTimeout{2};
/// PyTorch writes lines when its recorder is asked: its thread looks once a second.
constexpr std::chrono::seconds kRecorderTime{5};
/// Below the size limit of a message of the gang.
constexpr std::size_t kMostLineBytes = std::size_t{120} << 10U;

std::optional<std::uint64_t> resident_bytes(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  return file >> size >> resident ? std::optional(resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)))
                                  : std::nullopt;
}

/// Adds CPU time and memory of the worker and its descendants.
void add_use(control::WorkerStatus& worker, const std::vector<Process>& processes) {
  std::vector<Process> tree = descendants(processes, worker.pid, {});
  const auto own = std::find_if(processes.begin(), processes.end(),
                                [&](const Process& process) { return process.pid == worker.pid; });
  if (own == processes.end()) {
    return;
  }
  tree.push_back(*own);
  unsigned long ticks = 0;
  std::uint64_t memory = 0;
  for (const Process& process : tree) {
    ticks += process.cpu_ticks;
    memory += resident_bytes(process.pid).value_or(0);
  }
  worker.cpu_seconds = static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  worker.memory_bytes = memory;
}

void add_heartbeat(control::WorkerStatus& worker, const std::string& file, double now) {
  const auto heartbeat = control::parse_heartbeat(read_untrusted_file(file, control::kHeartbeatBytes));
  if (heartbeat) {
    worker.heartbeat_age = std::max(now - heartbeat->at, 0.0);
    worker.step = heartbeat->step;
    worker.numbers = heartbeat->numbers;
  }
}

/// Seconds are written as decimals, not in exponential form.
std::string notice_text(const JobNotice& notice, double within, int attempt) {
  std::array<char, 64> times{};
  (void)std::snprintf(times.data(), times.size(), "\"deadline\":%.3f,\"within\":%.3f", notice.deadline, within);
  return "{\"version\":" + std::to_string(kNoticeVersion) + ",\"attempt\":" + std::to_string(attempt) + "," +
         times.data() + ",\"reason\":" + json::serialize(json::value(valid_utf8(notice.source))) + "}\n";
}

/// Changes the flag's byte in place, because a worker's library may have created and mapped the file.
Result<> write_flag(const std::string& path, char flag) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kPrivateFileMode));
  if (!file || ::pwrite(file.get(), &flag, 1, 0) != 1) {
    return system_error("cannot write '" + path + "'", errno);
  }
  return {};
}

}  // namespace

JobControl::JobControl(JobControlOwner& owner, boost::asio::io_context& io, HelperProcesses& helpers,
                       std::string run_folder, JobState job)
    : owner_(owner),
      run_folder_(std::move(run_folder)),
      job_(std::move(job)),
      since_(control::now_since_1970()),
      server_(io),
      helper_(io, helpers),
      status_question_{"", Timer(io)},
      stacks_question_{kStacks, Timer(io)},
      nccl_question_{kNcclToo, Timer(io)},
      hang_watch_(io, *this) {}

void JobControl::start() {
  if (run_folder_.empty()) {
    return;
  }
  server_.on_request = [this](const control::Request& request, pid_t client, const Reply& reply) {
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
  helper_.cancel();
  is_stopping_ = true;
  for (const Reply& reply : std::exchange(suspend_replies_, {})) {
    reply(control::write_answer({{"end", why}}));
  }
  stop_watching();
  answer(status_question_, "the job is ending: " + why);
  answer(stacks_question_, "the job is ending: " + why);
  answer(nccl_question_, "the job is ending: " + why);
}

void JobControl::note_stopping(bool is_stopping) {
  is_stopping_ = is_stopping;
  if (is_stopping) {
    stop_watching();
    for (const Reply& reply : std::exchange(suspend_replies_, {})) {
      reply(control::write_answer({{"end", kWorkersAreEnding}}));
    }
  }
}

// --- Requests -----------------------------------------------------------------------------------

void JobControl::take(const control::HelloRequest& /*request*/, pid_t /*client*/, const Reply& reply) {
  reply(control::write_answer(job_document()));
}

void JobControl::take(const control::StatusRequest& /*request*/, pid_t /*client*/, const Reply& reply) {
  ask_nodes(status_question_, [this, reply](const std::string& why_not) {
    reply(why_not.empty() ? control::write_answer(status_answer()) : control::write_refusal(why_not));
  });
}

void JobControl::take(const control::StacksRequest& request, pid_t /*client*/, const Reply& reply) {
  const bool asks_nccl = request.nccl != control::AskNccl::No;
  Question& question = asks_nccl ? nccl_question_ : stacks_question_;
  const char* const with_nccl = request.nccl == control::AskNccl::Always ? kNcclOfAnyVersion : kNcclToo;
  ask_about_stacks(question, asks_nccl ? with_nccl : kStacksAndRecorders, [=, this, &question](const auto& why_not) {
    if (!why_not.empty()) {
      reply(control::write_refusal(why_not));
      return;
    }
    const hang::Evidence known = evidence(question);
    const json::object found = stacks_answer(known, judge(known));
    owner_.hang_record().keep("muster stacks", found);
    reply(control::write_answer(found));
  });
}

void JobControl::take(const control::StopRequest& request, pid_t /*client*/, const Reply& reply) {
  log_info("muster stop: ending the job");
  owner_.notify(gang::StopSignal{SIGTERM, /*workers_know=*/false, request.grace});
  reply(control::write_answer());
}

/// With a notice in force the earlier deadline counts; to a later one the gang may never answer, so this does.
void JobControl::take(const control::SuspendRequest& request, pid_t /*client*/, const Reply& reply) {
  const std::string source = "muster suspend" + (request.reason.empty() ? "" : ": " + request.reason);
  owner_.notify(gang::SuspendRequested{source, request.within});
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

void JobControl::take(const control::WithdrawRequest& /*request*/, pid_t /*client*/, const Reply& reply) {
  if (!notice_) {
    reply(control::write_refusal("there is no notice that could be withdrawn"));
    return;
  }
  owner_.notify(gang::SuspendRequested{"muster suspend --cancel", {}, /*is_withdrawn=*/true});
  suspend_replies_.push_back(reply);
}

void JobControl::take(const control::SavedRequest& request, pid_t client, const Reply& reply) {
  auto process = owner_.name_process(client);
  if (!process && request.rank) {
    if (*request.rank >= owner_.rank_count()) {
      reply(control::write_refusal("the job has no rank " + std::to_string(*request.rank)));
      return;
    }
    process = "rank " + std::to_string(*request.rank);
  }
  owner_.notify(gang::WorkSaved{0, process.value_or("pid " + std::to_string(client))});
  reply(control::write_answer());
}

// --- The state of the job -----------------------------------------------------------------------

void JobControl::ask_nodes(Question& question, std::function<void(const std::string& why_not)> then) {
  question.waiting.push_back(std::move(then));
  if (question.waiting.size() > 1) {
    return;
  }
  question.number = ++questions_asked_;
  question.lines.clear();
  question.ranks.clear();
  question.missing = job_.nodes;
  question.timer.start(kStatusTimeout, [this, &question] {
    answer(question, question.lines.empty()
                         ? "no node has answered in time, not even this one: node 0, which asks all, "
                           "may hang"
                         : "");
  });
  owner_.notify(gang::StatusQuery{question.number, question.what});
}

/// A question that is being asked already stays as it is.
void JobControl::ask_about_stacks(Question& question, const char* what,
                                  std::function<void(const std::string& why_not)> then) {
  if (question.waiting.empty()) {
    question.what = what;
  }
  ask_nodes(question, std::move(then));
}

void JobControl::take_status(const gang::StatusReport& status) {
  Question& question = status.number == stacks_question_.number ? stacks_question_
                       : status.number == nccl_question_.number ? nccl_question_
                                                                : status_question_;
  if (question.waiting.empty() || status.number != question.number) {
    return;  // too late
  }
  question.lines.push_back(status.text);
  question.ranks.push_back(status.ranks);
  question.missing = status.missing;
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
  return {{"job", job_document()}, {"nodes", std::move(nodes)}, {"missing", status_question_.missing + unread}};
}

/// Joins what the nodes have answered about their ranks.
hang::Evidence JobControl::evidence(const Question& question) {
  hang::Evidence evidence = hang::join_lines(question.lines, question.ranks);
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
  if (!evidence.nccl.empty()) {
    answer["nccl"] = evidence.nccl;
  }
  return answer;
}

void JobControl::describe_status(const gang::StatusQuery& wanted) {
  if (!contains(kQuestions, wanted.what)) {  // a later version asks
    owner_.notify(gang::StatusReport{wanted.number, ""});
    return;
  }
  described_[wanted.what].insert(wanted.number);
  if (!std::exchange(is_describing_, true)) {
    describe_pending();
  }
}

/// Runs in a helper process, because /proc may be large and a file system may hang.
void JobControl::describe_pending() {
  const auto asked = described_.extract(described_.begin());
  if (!asked.key().empty()) {
    ask_store_and_describe(asked.mapped(), sources_of(asked.key()));
    return;
  }
  helper_.start({[this] { return status_line(); }, kHelperTimeout,
                 [this, numbers = asked.mapped()](const HelperTask::Answer& answer) {
                   send_description(numbers,
                                    answer ? *answer : control::to_line(owner_.describe_node(), kMostLineBytes));
                 }});
}

EvidenceSources JobControl::sources_of(const std::string& what) const {
  const bool may_ask_recorders = asks_.contains(hang::Question::Recorder);
  EvidenceSources sources{may_ask_recorders ? recorders_ : RecorderFolders(), /*asks_recorders=*/what != kStacks, nccl_,
                          asks_};
  sources.asked = asked_ ? asked_->get() : nullptr;
  sources.nccl.is_confirmed = what == kNcclOfAnyVersion;
  sources.nccl.is_wished = what == kNcclToo || sources.nccl.is_confirmed;
  return sources;
}

void JobControl::ask_store_and_describe(const std::set<int>& numbers, const EvidenceSources& sources) {
  const auto describe_with = [this, numbers, sources](const std::string& store) {
    if (!end_) {
      describe_stacks(numbers, sources, store);
    }
  };
  if (!owner_.ask_store(describe_with)) {
    describe_with("");
  }
}

void JobControl::describe_stacks(const std::set<int>& numbers, const EvidenceSources& sources,
                                 const std::string& store) {
  if (sources.asks_recorders) {
    owner_.disregard_output(kRecorderTime);
  }
  helper_.start({[this, sources, store] { return stacks_line(sources, store); }, sources.most_time,
                 [this, numbers](const HelperTask::Answer& answer) {
                   log_asked();
                   send_description(numbers, answer.value_or(""));
                 }});
}

std::map<std::string, std::uint64_t> JobControl::asked() const {
  return hang::by_name(asked_ ? (*asked_)[0] : hang::AskedCounts{});
}

void JobControl::log_asked() const {
  std::vector<std::string> counts;
  for (const auto& [name, times] : asked()) {
    counts.push_back(name + " " + std::to_string(times));
  }
  log_debug("asked about the ranks of this node so far: " + join(counts, ", "));
}

void JobControl::send_description(const std::set<int>& numbers, const std::string& line) {
  for (const int number : numbers) {
    owner_.notify(gang::StatusReport{number, line});
  }
  is_describing_ = !described_.empty();
  if (is_describing_) {
    describe_pending();
  }
}

std::string JobControl::stacks_line(const EvidenceSources& sources, const std::string& store) const {
  hang::Evidence evidence = gather_evidence(describe_with_heartbeats(), sources);
  evidence.store = store;
  evidence.fabric_bytes = read_fabric_bytes("");
  return hang::to_line(evidence, kMostLineBytes);
}

control::NodeStatus JobControl::describe_with_heartbeats() const {
  control::NodeStatus status = owner_.describe_node();
  const double now = control::now_since_1970();
  for (std::size_t i = 0; i < status.workers.size(); ++i) {
    add_heartbeat(status.workers[i], heartbeat_file(i), now);
  }
  return status;
}

std::string JobControl::status_line() const {
  control::NodeStatus status = describe_with_heartbeats();
  const std::vector<Process> processes = read_processes();
  for (control::WorkerStatus& worker : status.workers) {
    add_use(worker, processes);
  }
  return control::to_line(status, kMostLineBytes);
}

json::object JobControl::job_document() const {
  json::object document{{"version", job_.version}, {"pid", job_.pid}, {"nodes", job_.nodes}, {"since", since_}};
  if (!job_.id.empty()) {
    document["id"] = job_.id;
  }
  if (!job_.rendezvous.empty()) {
    document["rendezvous"] = job_.rendezvous;
  }
  if (notice_) {
    document["notice"] = notice_document();
  }
  return document;
}

json::object JobControl::notice_document() const {
  return {{"source", notice_->source}, {"deadline", notice_->deadline}};
}

// --- Hangs --------------------------------------------------------------------------------------

void JobControl::gather(bool asks_recorders, std::function<void(hang::Evidence)> then) {
  ask_about_stacks(
      stacks_question_, asks_recorders ? kStacksAndRecorders : kStacks,
      [this, then = std::move(then)](const std::string& /*why_not*/) { then(evidence(stacks_question_)); });
}

void JobControl::report(const hang::StallDetector::Step& step) {
  if (step.is_moving) {
    owner_.hang_record().forget();
  }
  std::optional<gang::StallBegun> stall;
  if (const auto& look = step.look) {
    owner_.hang_record().keep(*look, stacks_answer(evidence(stacks_question_), look->verdict),
                              /*is_new=*/!step.lines.empty() || step.hang);
    stall = look->begins_stall ? std::optional(gang::StallBegun{look->ranks}) : std::nullopt;
  }
  for (const std::string& line : step.lines) {
    owner_.notify(gang::Announced{shortened(line, kMostAnnouncedBytes), std::exchange(stall, {})});
  }
  if (step.hang) {
    owner_.notify(gang::Hung{0, shortened(step.hang->why, kMostAnnouncedBytes), step.hang->ranks});
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
  if (written) {  // last, since the library checks the flag first and then reads the file
    written = write_flag(path_of(kFlagFile), notice_ ? '\1' : '\0');
  }
  if (!notice_) {
    (void)::unlink(path_of(kNoticeFile).c_str());
  }
  if (!written) {
    log_warning("the workers cannot read the notice: " + written.error().message);
  }
  for (const Reply& reply : std::exchange(suspend_replies_, {})) {
    reply(control::write_answer(notice_ ? json::object{{"notice", notice_document()}} : json::object()));
  }
}

/// A new worker's library would continue in the old worker's file, and report its step.
void JobControl::forget_heartbeats(std::size_t workers) const {
  for (std::size_t i = 0; i < workers && !run_folder_.empty(); ++i) {
    (void)::unlink(heartbeat_file(i).c_str());
  }
}

std::string JobControl::heartbeat_file(std::size_t worker) const {
  return run_folder_ + "/heartbeat." + std::to_string(worker);
}

std::map<std::string, std::string> JobControl::environment_of(std::size_t worker) const {
  if (run_folder_.empty()) {
    return {};
  }
  std::map<std::string, std::string> variables = {{kSuspendFileVariable, path_of(kNoticeFile)},
                                                  {kHeartbeatFileVariable, heartbeat_file(worker)}};
  if (is_listening_) {
    variables[kControlSocketVariable] = path_of(control::kSocketName);
  }
  return variables;
}

}  // namespace muster
