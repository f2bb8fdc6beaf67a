// A line that some process sends to the control socket, an answer that a command reads, the table that it prints, and the
// heartbeat file of a worker.
#include "control/control.hpp"

#include "control/status.hpp"
#include "fuzz.hpp"

namespace muster::fuzz {
namespace {

void check(std::string_view bytes) {
  using namespace control;
  if (const auto request = parse_request(bytes)) {
    const std::string line = write_request(*request);
    require(parse_request(std::string_view(line).substr(0, line.size() - 1)).has_value(),
            "what was read can be written and read again");
  }
  if (const auto answer = parse_answer(bytes)) {
    (void)status_table(*answer, 1'000);
  }
  (void)status_table({{"nodes", join_nodes({std::string(bytes)})}}, 1'000);
  (void)parse_heartbeat(bytes);
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::check(muster::fuzz::text_of(data, size));
  return 0;
}
