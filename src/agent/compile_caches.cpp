// Decides when caches are filled and kept, and tells about it.
#include "agent/compile_caches.hpp"

#include "agent/cache_files.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "process/priority.hpp"

#include <unistd.h>

#include <string>
#include <utility>

namespace muster {
namespace {

/// Time that a start may wait for its caches.
constexpr std::chrono::seconds kFillLimit{30};
constexpr std::chrono::minutes kKeepInterval{10};
/// Limit for writing a pack at the lowest priority.
constexpr std::chrono::minutes kKeepLimit{5};
/// Limit for adding entries to a pack, which is then finished with those that it has.
constexpr std::chrono::minutes kAddLimit{4};
constexpr std::chrono::seconds kAddLimitAtEnd{3};

compile_cache::CachePlaces places_of(const CacheOptions& options) {
  return {options.folder, options.store->value, options.user};
}

/// "1,214 entries (310 MB)".
std::string describe_entries(const compile_cache::CacheReport& report, const std::string& what) {
  constexpr std::size_t kGroup = 3;
  constexpr std::uint64_t kMega = 1'000'000;
  constexpr std::uint64_t kKilo = 1'000;
  std::string count = std::to_string(report.entries);
  for (std::size_t at = count.size(); at > kGroup; at -= kGroup) {
    count.insert(at - kGroup, ",");
  }
  const std::string size = report.bytes >= kMega ? std::to_string(report.bytes / kMega) + " MB"
                                                 : std::to_string((report.bytes + kKilo - 1) / kKilo) + " kB";
  return count + " " + what + (report.entries == 1 ? "entry" : "entries") + " (" + size + ")";
}

}  // namespace

CompileCaches::CompileCaches(boost::asio::io_context& io, HelperProcesses& helpers, const RunContext& run)
    : keep_interval(kKeepInterval), run_(run), task_(io, helpers), keep_timer_(io), end_timer_(io) {}

void CompileCaches::fill(std::function<void()> then) {
  const auto work = [places = places_of(run_.options.caches)] { return write_report(fill_folder(places)); };
  const auto on_answer = [this, then = std::move(then), began = Clock::now()](const HelperTask::Answer& answer) {
    on_filled(answer, began);
    then();
  };
  task_.add({work, kFillLimit, on_answer});
}

void CompileCaches::on_filled(const HelperTask::Answer& answer, Clock::time_point began) {
  const std::string& store = run_.options.caches.store->value;
  if (!answer) {
    store_is_given_up_ = true;
    log_warning("compile caches: '" + store + "' has not given all entries within " +
                std::to_string(kFillLimit.count()) + " s, going on without the rest");
    return;
  }
  const auto report = compile_cache::read_report(*answer);
  heed(report);
  record({.kind = ledger::Kind::CachesFilled, .number = static_cast<std::int64_t>(report.entries)});
  if (report.entries > 0) {
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    log_info("compile caches: " + describe_entries(report, "") + " from " + store + " in " + format_seconds(seconds) +
             " s");
  }
}

void CompileCaches::begin_attempt(const LaunchPlan& plan) {
  workers_run_ = true;
  is_keeper_ = are_wanted() && plan.placement.node_rank.value == 0;
  if (!is_keeper_) {
    return;
  }
  if (!std::exchange(is_tried_, true)) {
    add([places = places_of(run_.options.caches)] { return write_report(try_store(places)); }, kFillLimit);
  }
  keep_later();
}

void CompileCaches::keep_later() {
  keep_timer_.start(keep_interval, [this] {
    keep({});
    keep_later();
  });
}

void CompileCaches::end_attempt(bool has_succeeded) {
  workers_run_ = false;
  keep(std::chrono::system_clock::now() - (has_succeeded ? std::chrono::seconds(0) : compile_cache::kUnchangedFor));
}

/// Keeps what was written before `latest`. If that is empty, keeps the files that were left unchanged for a moment
/// when the helper process looks at them: the next workers may run by then.
void CompileCaches::keep(std::optional<std::chrono::system_clock::time_point> latest) {
  constexpr int kMostQueued = 2;  // a second one, because the one that runs does not see new files
  if (!is_keeper_ || queued_ >= kMostQueued) {
    return;
  }
  const auto work = [this, latest] {  // runs in a helper process, which has the members as they are at its start
    if (workers_run_) {
      lower_priority(::getpid());
    }
    const auto settled = std::chrono::system_clock::now() - compile_cache::kUnchangedFor;
    return write_report(store_is_given_up_ ? compile_cache::CacheReport()
                                           : keep_new(places_of(run_.options.caches), latest.value_or(settled),
                                                      workers_run_ ? kAddLimit : kAddLimitAtEnd));
  };
  add(work, kKeepLimit);
}

void CompileCaches::add(HelperTask::Work work, std::chrono::milliseconds most_time) {
  if (!store_is_given_up_) {
    ++queued_;
    task_.add({std::move(work), most_time, [this](const HelperTask::Answer& answer) { on_kept(answer); }});
  }
}

/// Logs the remarks of a report, and gives up the store if the report says so.
void CompileCaches::heed(const compile_cache::CacheReport& report) {
  for (const std::string& remark : report.remarks) {
    log_warning("compile caches: " + remark);
  }
  store_is_given_up_ = store_is_given_up_ || report.is_refused;
}

void CompileCaches::on_kept(const HelperTask::Answer& answer) {
  --queued_;
  const std::string& store = run_.options.caches.store->value;
  if (!answer) {
    store_is_given_up_ = true;
    log_warning("compile caches: '" + store + "' does not take new entries, going on without it");
  } else {
    const auto report = compile_cache::read_report(*answer);
    heed(report);
    if (report.entries > 0) {
      record({.kind = ledger::Kind::CachesKept, .number = static_cast<std::int64_t>(report.entries)});
      log_info("compile caches: kept " + describe_entries(report, "new ") + " in " + store);
    }
  }
  if (task_.is_idle() && at_end_) {
    end_timer_.cancel();
    std::exchange(at_end_, nullptr)();
  }
}

void CompileCaches::end(std::chrono::milliseconds most_time, std::function<void()> then) {
  keep_timer_.cancel();
  if (queued_ == 0) {
    task_.cancel();  // kept nothing yet: the job ends first
    then();
    return;
  }
  at_end_ = std::move(then);
  end_timer_.start(most_time, [this] {
    log_warning("compile caches: new entries are not kept: the job ends before they are in '" +
                run_.options.caches.store->value + "'");
    task_.cancel();
    std::exchange(at_end_, nullptr)();
  });
}

}  // namespace muster
