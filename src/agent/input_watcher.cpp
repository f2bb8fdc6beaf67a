// Watches the directories of the inputs with inotify, and polls. src/inputs decides whether an input is complete.
#include "agent/input_watcher.hpp"

#include "base/text.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <filesystem>

namespace muster {
namespace {

constexpr std::chrono::seconds kPollInterval{5};

/// Events that may change an input: also the replacement of a symlink, as in mounted ConfigMaps, and new permissions.
constexpr std::uint32_t kEvents = IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE;

/// The directory of the file, or its nearest existing parent, in which the missing directory will appear. A rank
/// table may be given by its directory.
std::string folder_to_watch(const Input& input) {
  std::error_code ignored;  // without inotify, polling remains
  std::filesystem::path folder = std::filesystem::absolute(input.path, ignored);
  folder = input.is_rank_table && std::filesystem::is_directory(folder, ignored) ? folder : folder.parent_path();
  while (!std::filesystem::is_directory(folder, ignored) && folder != folder.parent_path()) {
    folder = folder.parent_path();
  }
  return folder.string();
}

}  // namespace

InputWatcher::InputWatcher(boost::asio::io_context& io, const std::vector<Input>& inputs,
                           std::chrono::milliseconds timeout)
    : inputs_(inputs), timeout_(timeout), events_(io), poll_timer_(io), deadline_(io) {}

void InputWatcher::start() {
  is_over_ = inputs_.empty();
  if (is_over_) {
    return;
  }
  const int events = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (events >= 0) {  // otherwise the limit of inotify instances is reached
    events_.assign(events);
    wait_for_events();
  }
  check();
}

void InputWatcher::cancel() {
  is_over_ = true;
  poll_timer_.cancel();
  deadline_.cancel();
  ErrorCode ignored;  // it is closed in any case
  events_.close(ignored);
}

void InputWatcher::check() {
  if (is_over_) {
    return;
  }
  watch_folders();                   // first: changes from here on are events
  stamp_ = fingerprint_of(inputs_);  // first: a later change has another fingerprint
  Answer answer = take_table(poll(inputs_));
  is_here_ = std::holds_alternative<Ready>(answer);
  take(std::move(answer));
}

/// Polls only if files have changed, because the table of a large job takes long to read.
void InputWatcher::check_if_touched() {
  if (is_here_ && stamp_ == fingerprint_of(inputs_)) {
    take(Ready{});
  } else {
    check();
  }
}

Answer InputWatcher::take_table(Answer answer) {
  auto* const here = std::get_if<Ready>(&answer);
  if (here == nullptr || !here->table || (here->table->text == table_ && here->table->version == version_)) {
    return answer;
  }
  std::string text = here->table->text;
  version_ = here->table->version;
  TRY(take_new_table(std::move(*here->table)));
  table_ = std::move(text);
  return Ready{};
}

void InputWatcher::take(Answer answer) {
  if (const auto* const error = std::get_if<Error>(&answer)) {
    cancel();
    on_failed(EndKind::BadInput, error->message);
    return;
  }
  poll_timer_.start(kPollInterval, [this] { check_if_touched(); });
  if (const auto* const missing = std::get_if<Pending>(&answer)) {
    note(missing->reason, /*lacks_input=*/true);
  } else {
    note(find_route(), /*lacks_input=*/false);
  }
}

void InputWatcher::note(const std::string& waits_for, bool lacks_input) {
  if (!lacks_input) {
    deadline_.cancel();
  } else if (!deadline_.is_pending()) {
    deadline_.start(timeout_, [this] { on_deadline(); });
  }
  if (waits_for == waits_for_) {
    return;
  }
  waits_for_ = waits_for;
  on_changed(waits_for_);
}

/// Watches the directories of all inputs. inotify keeps a watch that exists already.
void InputWatcher::watch_folders() {
  if (!events_.is_open()) {
    return;
  }
  for (const Input& input : inputs_) {
    (void)::inotify_add_watch(events_.native_handle(), folder_to_watch(input).c_str(), kEvents);
  }
  for (const Input& input : watched_too_) {
    (void)::inotify_add_watch(events_.native_handle(), folder_to_watch(input).c_str(), kEvents);
  }
}

void InputWatcher::watch_as_well(const std::string& path) {
  watched_too_.emplace_back().path = path;
}

void InputWatcher::wait_for_events() {
  events_.async_wait(boost::asio::posix::stream_descriptor::wait_read, std::bind_front(&InputWatcher::on_events, this));
}

void InputWatcher::on_events(const ErrorCode& error) {
  if (error || is_over_) {
    return;
  }
  // The file's name does not matter, since a symlink may have changed. Further events are read in the next turn.
  std::array<char, 4'096> events{};
  (void)!::read(events_.native_handle(), events.data(), events.size());
  wait_for_events();
  check();
}

void InputWatcher::on_deadline() {
  cancel();
  on_failed(EndKind::Incomplete,
            "waited " + format_seconds(std::chrono::duration<double>(timeout_).count()) + " s in vain: " + waits_for_);
}

}  // namespace muster
