// Reads requests for timers. Whoever may open the pipe can write anything: nothing is taken for granted.
#include "services/file_timer.hpp"

#include "base/json.hpp"

#include <csignal>
#include <limits>
#include <utility>

namespace muster::file_timer {
namespace {

std::optional<int> read_integer(const json::object& request, const char* name) {
  const json::value* const value = request.if_contains(name);
  if (value == nullptr || !value->is_int64() ||
      value->get_int64() < std::numeric_limits<int>::min() ||
      value->get_int64() > std::numeric_limits<int>::max()) {
    return std::nullopt;
  }
  return static_cast<int>(value->get_int64());
}

std::optional<double> read_number(const json::object& request, const char* name) {
  const json::value* const value = request.if_contains(name);
  return value != nullptr && value->is_number() ? std::optional(value->to_number<double>())
                                                : std::nullopt;
}

/// `version` is 1 in all releases, and the original does not look at it.
std::optional<Timer> read_request(std::string_view line) {
  boost::system::error_code error;
  json::parse_options limits;
  limits.max_depth = 4;
  const json::value document = json::parse(line, error, {}, limits);
  if (error || !document.is_object()) {
    return std::nullopt;
  }
  const json::object& request = document.get_object();
  const auto pid = read_integer(request, "pid");
  const auto expires = read_number(request, "expiration_time");
  const auto signal = read_integer(request, "signal");
  const json::value* const scope = request.if_contains("scope_id");
  const bool has_numbers = pid && *pid > 0 && expires && signal && *signal <= SIGRTMAX;
  if (!has_numbers || scope == nullptr || !scope->is_string()) {
    return std::nullopt;
  }
  return Timer{*pid, std::string(scope->get_string()), *expires, *signal};
}

}  // namespace

std::size_t Timers::take(std::string_view bytes) {
  std::size_t refused = 0;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    is_line_too_long_ = is_line_too_long_ || line_.size() + piece.size() > limits_.line_bytes;
    if (is_line_too_long_) {
      line_.clear();
    } else {
      line_ += piece;
    }
    if (end == std::string_view::npos) {
      break;
    }
    refused += std::exchange(is_line_too_long_, false) || !take_line(line_) ? 1 : 0;
    line_.clear();
    bytes.remove_prefix(end + 1);
  }
  return refused;
}

bool Timers::take_line(std::string_view line) {
  auto timer = read_request(line);
  if (!timer) {
    return false;
  }
  if (const auto old = timers_.find({timer->pid, timer->scope}); old != timers_.end()) {
    remove(old);
  }
  return timer->expires < 0 || set(std::move(*timer));
}

bool Timers::set(Timer timer) {
  if (timers_.size() >= limits_.timers || scope_bytes_ + timer.scope.size() > limits_.scope_bytes) {
    return false;
  }
  scope_bytes_ += timer.scope.size();
  const double expires = timer.expires;
  const Key key{timer.pid, timer.scope};
  const auto [at, is_new] = timers_.emplace(key, std::move(timer));
  by_time_.insert({expires, at->first.first, at->first.second});
  return true;
}

void Timers::remove(std::map<Key, Timer>::iterator timer) {
  by_time_.erase({timer->second.expires, timer->first.first, timer->first.second});
  scope_bytes_ -= timer->first.second.size();
  timers_.erase(timer);
}

std::optional<double> Timers::next() const {
  return by_time_.empty() ? std::nullopt : std::optional(std::get<double>(*by_time_.begin()));
}

std::optional<Timer> Timers::expire(double now) {
  const auto first = next();
  if (!first || *first > now) {
    return std::nullopt;
  }
  const auto& [time, pid, scope] = *by_time_.begin();
  Timer chosen = timers_.at({pid, std::string(scope)});
  for (auto at = timers_.lower_bound({chosen.pid, ""}); is_of(at, chosen.pid); remove(at++)) {
    const Timer& timer = at->second;
    const bool is_first = chosen.signal <= 0 || timer.expires < chosen.expires;
    if (timer.expires <= now && timer.signal > 0 && is_first) {
      chosen = timer;
    }
  }
  return chosen;
}

bool Timers::is_of(std::map<Key, Timer>::const_iterator timer, int pid) const {
  return timer != timers_.end() && timer->first.first == pid;
}

}  // namespace muster::file_timer
