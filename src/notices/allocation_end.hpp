#pragma once

// A notice before the end of the allocation, by the clock. Private to run/.

#include "notices/notice_source.hpp"

#include <boost/asio/steady_timer.hpp>

namespace muster {

class AllocationEnd final : public NoticeSource {
 public:
  AllocationEnd(boost::asio::io_context& io,
                const SuspendOptions& options,
                NoticeCallbacks callbacks)
      : timer_(io), options_(options), callbacks_(std::move(callbacks)) {}

  void start() override;
  void stop() override { timer_.cancel(); }

 private:
  boost::asio::steady_timer timer_;
  const SuspendOptions& options_;
  NoticeCallbacks callbacks_;
};

}  // namespace muster
