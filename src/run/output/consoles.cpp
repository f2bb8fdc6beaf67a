// Makes the consoles and tells when they have taken everything.
#include "consoles.hpp"

#include <muster/logs/messages.hpp>
#include <muster/run/inherited.hpp>

#include <boost/asio/post.hpp>

#include <sys/stat.h>
#include <unistd.h>

namespace muster {
namespace {

bool is_same_file(int left, int right) {
  struct stat a {};
  struct stat b {};
  return ::fstat(left, &a) == 0 && ::fstat(right, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

}  // namespace

Consoles::Consoles(boost::asio::io_context& io, std::chrono::milliseconds stall)
    : io_(io), error_(std::make_unique<Console>(io, STDERR_FILENO, "standard error", stall)) {
  if (!is_same_file(STDOUT_FILENO, STDERR_FILENO)) {
    out_ = std::make_unique<Console>(io, STDOUT_FILENO, "standard output", stall);
  }
  for (Console* console : all()) {
    console->on_relief = [this] { pass_relief_on(); };
    console->on_remark = [](const std::string& remark) { say_warning(remark); };
  }
  watch_terminals();
  send_messages_to([this](std::string_view line) { error_->write_message(line); });
  if (was_closed(STDOUT_FILENO) || (out_ && out_->is_broken())) {
    say_warning("standard output is closed, going on without it");
  }
}

void Consoles::watch_terminals() {
  if (::isatty(STDERR_FILENO) != 0) {
    error_->watch_terminal();
  }
  if (out_ && ::isatty(STDOUT_FILENO) != 0) {
    out_->watch_terminal();
  }
}

Consoles::~Consoles() {
  send_messages_to({});  // the console that took them goes with us
}

void Consoles::pass_relief_on() const {
  if (on_relief) {
    on_relief();
  }
}

std::vector<Console*> Consoles::all() const {
  std::vector<Console*> consoles = {error_.get()};
  if (out_) {
    consoles.push_back(out_.get());
  }
  return consoles;
}

bool Consoles::are_settled(const std::function<void()>& next) {
  const auto come_back = [this, next] { boost::asio::post(io_, next); };
  bool is_settled = true;
  for (Console* console : all()) {
    const bool is_this_settled = console->is_settled();
    console->on_settled = is_this_settled ? std::function<void()>() : come_back;
    is_settled = is_settled && is_this_settled;
  }
  return is_settled;
}

void Consoles::abandon(Console& console) {
  if (const std::uint64_t lines = console.abandon(); lines > 0) {
    losses_.push_back(console.describe_dropped(lines));
  }
}

void Consoles::abandon() {
  for (Console* console : all()) {
    abandon(*console);
  }
}

std::vector<std::string> Consoles::describe_losses() {
  for (Console* console : all()) {
    if (console->is_stalled()) {
      abandon(*console);
    }
  }
  return losses_;
}

}  // namespace muster
