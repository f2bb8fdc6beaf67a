#pragma once

// Interface of sources that announce a suspension of the job, besides signals and commands. A new source is a file in
// this folder and a line in make_notice_sources.

#include "process/helper_process.hpp"
#include "run/suspend_options.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Owns the sources, and gets their notices. A source may give a notice several times. `source` is its name for the user.
class NoticeSourceOwner {
 public:
  virtual ~NoticeSourceOwner() = default;

  /// The job is to be suspended. `within`: the time in which the workers must save; muster's margin is subtracted.
  virtual void take_notice(const std::string& source, std::optional<std::chrono::milliseconds> within) = 0;
  /// The notice is withdrawn: the job goes on.
  virtual void withdraw_notice(const std::string& source) = 0;
  /// A source has finished `on_suspended`.
  virtual void note_source_done() = 0;
};

class NoticeSource {
 public:
  /// `owner` outlives the source.
  explicit NoticeSource(NoticeSourceOwner& owner) : owner_(owner) {}
  NoticeSource(const NoticeSource&) = delete;
  NoticeSource& operator=(const NoticeSource&) = delete;
  virtual ~NoticeSource() = default;

  virtual void start() = 0;
  /// Ends the source: it gives no notice after this.
  virtual void stop() = 0;
  /// The workers have been told of a notice, from any source.
  virtual void on_delivered() {}
  /// The job ends as suspended. Calls `note_source_done` once, within a second unless the machine is overloaded.
  virtual void on_suspended() { owner().note_source_done(); }

 protected:
  NoticeSourceOwner& owner() const { return owner_; }

 private:
  NoticeSourceOwner& owner_;
};

/// Makes the sources that the options ask for; without any, nothing polls. All arguments outlive them.
std::vector<std::unique_ptr<NoticeSource>> make_notice_sources(boost::asio::io_context& io, HelperProcesses& helpers,
                                                               const SuspendOptions& options, NoticeSourceOwner& owner);

}  // namespace muster
