// Makes the sources of notices that the options ask for.
#include "notices/notice_source.hpp"

#include "notices/hai.hpp"
#include "notices/metadata.hpp"
#include "process/timer.hpp"

#include <algorithm>

namespace muster {
namespace {

/// Gives a notice at a fixed time before the end of the allocation. Its one timer stands still while the machine
/// sleeps, and then is late by that time.
class AllocationEnd final : public NoticeSource {
 public:
  AllocationEnd(boost::asio::io_context& io, const SuspendOptions& options, NoticeSourceOwner& owner)
      : NoticeSource(owner), timer_(io), options_(options) {}

  void start() override {
    const auto left = *options_.allocation_end - std::chrono::system_clock::now() - *options_.before_end;
    timer_.start(std::max(std::chrono::duration_cast<std::chrono::nanoseconds>(left), std::chrono::nanoseconds(0)),
                 [this] { owner().take_notice("the end of the allocation", options_.time_left()); });
  }
  void stop() override { timer_.cancel(); }

 private:
  Timer timer_;
  const SuspendOptions& options_;
};

}  // namespace

std::vector<std::unique_ptr<NoticeSource>> make_notice_sources(boost::asio::io_context& io, HelperProcesses& helpers,
                                                               const SuspendOptions& options,
                                                               NoticeSourceOwner& owner) {
  std::vector<std::unique_ptr<NoticeSource>> sources;
  if (options.before_end) {
    sources.push_back(std::make_unique<AllocationEnd>(io, options, owner));
  }
  if (options.hai) {
    sources.push_back(std::make_unique<HaiFlag>(io, helpers, *options.hai, owner));
  }
  if (options.watched) {
    sources.push_back(std::make_unique<Metadata>(io, helpers, *options.watched, owner));
  }
  return sources;
}

}  // namespace muster
