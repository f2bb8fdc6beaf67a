// Batch systems and their clocks. Source: sbatch(1), flux-job(1), bjobs(1).
#include "allocation_end.hpp"

#include "base/text.hpp"
#include "process/briefly.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <system_error>

namespace muster {
namespace {

using Clock = std::chrono::system_clock;

constexpr int kMostNumber = std::numeric_limits<int>::max();

/// Seconds since 1970. What is no whole number says nothing.
std::optional<Clock::time_point> parse_end(const std::string& text) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr std::int64_t kLatestEnd = 9'000'000'000;  // the clock counts nanoseconds in 64 bits
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  if (!is_whole || seconds <= 0 || seconds > kLatestEnd) {
    return std::nullopt;
  }
  return Clock::time_point(std::chrono::seconds(seconds));
}

/// "05" as a number is written.
std::string_view without_zero(std::string_view digits) {
  return digits.size() == 2 && digits.front() == '0' ? digits.substr(1) : digits;
}

/// The first line that it prints. `timeout` ends it where it hangs, before the helper process is given up.
std::optional<std::string> probe_program(const std::string& command) {
  constexpr std::chrono::seconds kPatience{6};
  const auto run = [&] {
    std::array<char, 256> line{};
    // NOLINTNEXTLINE(cert-env33-c): the words are ours, and the job's number is one
    std::FILE* const output = ::popen(("timeout -k 1 4 " + command + " 2>/dev/null").c_str(), "re");
    if (output != nullptr) {
      (void)std::fgets(line.data(), line.size(), output);
      (void)::pclose(output);
    }
    return std::string(trim(line.data()));
  };
  return ask_with_timeout(run, {}, kPatience);
}

std::optional<std::chrono::seconds> ask_for_time_left(const Snapshot& snapshot) {
  if (snapshot.has("FLUX_JOB_ID") || snapshot.has("FLUX_URI")) {
    const auto text = probe_program("flux job timeleft");
    return text ? parse_flux_time_left(*text) : std::nullopt;
  }
  const auto job = snapshot.variable("LSB_JOBID");
  if (!job || !parse_integer(*job, 1, kMostNumber)) {
    return std::nullopt;
  }
  const auto text = probe_program("bjobs -noheader -o time_left " + *job);
  return text ? parse_lsf_time_left(*text) : std::nullopt;
}

}  // namespace

std::optional<std::chrono::seconds> parse_flux_time_left(std::string_view text) {
  const auto seconds = parse_integer(text, 0, kMostNumber);
  return seconds ? std::optional(std::chrono::seconds(*seconds)) : std::nullopt;
}

std::optional<std::chrono::seconds> parse_lsf_time_left(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || !text.ends_with(" L")) {
    return std::nullopt;
  }
  const auto hours = parse_integer(text.substr(0, colon), 0, kMostNumber / 3600 - 1);
  const auto minutes =
      parse_integer(without_zero(text.substr(colon + 1, text.size() - colon - 3)), 0, 59);
  if (!hours || !minutes) {
    return std::nullopt;
  }
  return std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
}

std::optional<Clock::time_point> find_allocation_end(const Snapshot& snapshot, bool may_ask) {
  if (const auto given = snapshot.variable("SLURM_JOB_END_TIME")) {
    return parse_end(*given);
  }
  const auto left = may_ask ? ask_for_time_left(snapshot) : std::nullopt;
  return left ? std::optional(Clock::now() + *left) : std::nullopt;
}

}  // namespace muster
