// The byte is '1' from HAI's command on. The task's manager has it set back to '0' five seconds later, whatever the job does: that is
// no withdrawal. A '1' after a '0' is another command.
// Source: HFAiLab/hai-platform, the suspend protocol.
#include "notices/hai.hpp"

#include "notices/hai_manager.hpp"

#include "base/log.hpp"
#include "supervise/notice.hpp"

#include <sys/ipc.h>
#include <sys/shm.h>

#include <cstdint>

namespace muster {
namespace {

/// HAI's key is 7123378543, of which the kernel has the low 32 bits.
constexpr std::uint32_t kKey = 0xA896216F;
constexpr char kSet = '1';

constexpr std::chrono::milliseconds kBetweenFlagLooks{200};
/// Then the manager stops a task that has not answered.
constexpr std::chrono::milliseconds kTimeToAnswer{5'000};
/// For the manager, at the end of the job above all.
constexpr std::chrono::milliseconds kManagerPatience{1'000};

/// False where there is no such memory yet. It is attached anew each time: who serves it may make it again.
bool is_flag_set() {
  const int id = ::shmget(static_cast<key_t>(kKey), 1, 0);
  if (id == -1) {
    return false;
  }
  const void* const memory = ::shmat(id, nullptr, SHM_RDONLY);
  if (memory == reinterpret_cast<void*>(-1)) {  // NOLINT(performance-no-int-to-ptr): shmat(2)
    return false;
  }
  const bool is_set = *static_cast<const volatile char*>(memory) == kSet;
  (void)::shmdt(memory);
  return is_set;
}

}  // namespace

void HaiFlag::look() {
  const bool was_set = std::exchange(is_set_, is_flag_set());
  if (is_set_ && !was_set) {
    owes_receipt_ = true;
    callbacks_.notice("HAI's suspend command", time_to_save(kTimeToAnswer));
  }
  schedule_poll(kBetweenFlagLooks);
}

void HaiFlag::schedule_poll(std::chrono::milliseconds time) {
  timer_.expires_after(time);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) {
      look();
    }
  });
}

/// Without a receipt the manager stops the task after five seconds, with one after ten.
void HaiFlag::on_told() {
  if (std::exchange(owes_receipt_, false) && !task_.manager.empty()) {
    receipt_.start(
        {[this] { return notify_hai_manager(task_.manager, "receive_suspend_command"); }, {}},
        kManagerPatience,
        [](const HelperTask::Answer& problem) {
          log_debug("HAI's manager was told that its command has arrived: " +
                    describe_telling(problem));
        });
  }
}

/// Also of a job that has not saved: its pods end with a code that is not 0, which HAI takes for a failure unless it knows better, and
/// does not start again.
void HaiFlag::on_suspended(const std::function<void()>& then) {
  if (!task_.is_training || task_.manager.empty()) {
    then();
    return;
  }
  farewell_.start({[this] { return notify_hai_manager(task_.manager, "go_suspend"); }, {}},
                  kManagerPatience,
                  [then](const HelperTask::Answer& problem) {
                    if (!problem || !problem->empty()) {
                      log_warning(
                          "HAI's manager does not know that the job is suspended, and may not "
                          "start it again: " +
                          describe_telling(problem));
                    }
                    then();
                  });
}

}  // namespace muster
