// A file system that hangs would keep whoever tries, before there is an agent that hears a request to end.
#include "report_trial.hpp"

#include "base/text.hpp"
#include "base/log.hpp"
#include "report/report.hpp"
#include "process/briefly.hpp"

#include <chrono>
#include <limits>

namespace muster {

Result<std::optional<int>> try_report(const Sourced<std::string>& file) {
  constexpr std::chrono::seconds kPatience{1};
  const auto try_aside = [&]() -> std::string {
    if (const auto stream = stream_of(file.value)) {
      return std::to_string(*stream);  // which is open here alone
    }
    const auto prepared = prepare_report(file);
    return prepared ? "" : prepared.error().message;
  };
  const auto answer = ask_with_timeout(try_aside, {}, kPatience);
  if (!answer) {
    log_warning("cannot try whether the report '" + file.value +
                "' can be written: its file system does not answer, going on");
    return std::optional<int>();
  }
  const auto stream = parse_integer(*answer, 0, std::numeric_limits<int>::max());
  if (!stream && !answer->empty()) {
    return Error{blame(file.source), *answer};
  }
  const auto prepared = stream ? prepare_report(file) : Result<>();
  return prepared ? Result<std::optional<int>>(stream) : prepared.error();
}

}  // namespace muster
