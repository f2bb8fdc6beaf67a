// Reads the time limit of batch systems. Source: sbatch(1), flux-job(1), bjobs(1).
#include "notices/allocation_end.hpp"

#include "base/text.hpp"
#include "process/helper_process.hpp"
#include "process/run_program.hpp"
#include "process/spawn.hpp"

#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace muster {
namespace {

using Clock = std::chrono::system_clock;

constexpr int kMostNumber = std::numeric_limits<int>::max();

/// Reads seconds since 1970. Empty for anything but a positive whole number.
std::optional<Clock::time_point> parse_end(const std::string& text) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr std::int64_t kLatestEnd = 9'000'000'000;  // the clock has 64-bit nanoseconds
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  if (!is_whole || seconds <= 0 || seconds > kLatestEnd) {
    return std::nullopt;
  }
  return Clock::time_point(std::chrono::seconds(seconds));
}

/// Time for the batch system's command; it is killed then.
constexpr std::chrono::seconds kQueryTimeout{4};

/// The output of a program of the batch system, errors included; empty: it is not there, or does not answer.
std::string output_of(std::vector<std::string> command, const std::string& search_path) {
  const auto run = [&] {
    auto found = find_executable(command.front(), search_path);
    if (!found) {
      return std::string();
    }
    command.front() = *std::move(found);
    const auto answer = run_program({.command = command, .end = std::chrono::steady_clock::now() + kQueryTimeout});
    return answer && answer->end == ProgramAnswer::End::ByItself ? answer->said : std::string();
  };
  return HelperTask::wait_for({run, kQueryTimeout + std::chrono::seconds(2)}).value_or("");
}

/// The first line that `parse` understands, behind warnings of the program.
template <typename Parse>
std::optional<std::chrono::seconds> first_time_in(const std::string& output, Parse parse) {
  for (const std::string& line : split(output, '\n')) {
    if (const auto time = parse(trim(line))) {
      return time;
    }
  }
  return std::nullopt;
}

std::optional<std::chrono::seconds> ask_for_time_left(const Snapshot& snapshot) {
  const std::string path = snapshot.variable("PATH").value_or("");
  if (snapshot.has("FLUX_JOB_ID") || snapshot.has("FLUX_URI")) {
    return first_time_in(output_of({"flux", "job", "timeleft"}, path), parse_flux_time_left);
  }
  const auto job = snapshot.variable("LSB_JOBID");
  if (!job || !parse_integer(*job, 1, kMostNumber)) {
    return std::nullopt;
  }
  return first_time_in(output_of({"bjobs", "-noheader", "-o", "time_left", *job}, path), parse_lsf_time_left);
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
  std::string_view digits = text.substr(colon + 1, text.size() - colon - 3);
  // "05" is 5.
  digits.remove_prefix(digits.size() == 2 && digits.front() == '0' ? 1 : 0);
  const auto minutes = parse_integer(digits, 0, 59);
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
