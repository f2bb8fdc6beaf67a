// Which sources of notices a job has.
#include "notices/allocation_end.hpp"
#include "notices/hai.hpp"
#include "notices/metadata.hpp"

namespace muster {

std::vector<std::unique_ptr<NoticeSource>> make_notice_sources(boost::asio::io_context& io,
                                                               HelperProcesses& helpers,
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

}  // namespace muster
