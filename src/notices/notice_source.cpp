// Makes the sources of notices that the options ask for.
#include "notices/notice_source.hpp"

#include "notices/hai.hpp"
#include "notices/metadata.hpp"

#include <algorithm>

namespace muster {

std::vector<std::unique_ptr<NoticeSource>> make_notice_sources(boost::asio::io_context& io, HelperProcesses& helpers,
                                                               const SuspendOptions& options,
                                                               const NoticeCallbacks& callbacks) {
  std::vector<std::unique_ptr<NoticeSource>> sources;
  if (options.before_end) {
    sources.push_back(std::make_unique<AllocationEnd>(io, options, callbacks));
  }
  if (options.hai) {
    sources.push_back(std::make_unique<HaiFlag>(io, helpers, *options.hai, callbacks));
  }
  if (options.watched) {
    sources.push_back(std::make_unique<Metadata>(io, helpers, *options.watched, callbacks));
  }
  return sources;
}

// One timer for the whole job, which is late by the time that the machine is suspended.

void AllocationEnd::start() {
  const auto left = *options_.allocation_end - std::chrono::system_clock::now() - *options_.before_end;
  timer_.start(std::max(std::chrono::duration_cast<std::chrono::nanoseconds>(left), std::chrono::nanoseconds(0)),
               [this] { callbacks_.notice("the end of the allocation", options_.time_left()); });
}

}  // namespace muster
