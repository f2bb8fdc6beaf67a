// Messages between muster and its PMIx server, in both directions.
//
// The first byte says what follows: messages of the server, to muster; messages of muster, to the server; or a job,
// which both must understand in the same way. The second says how long the pieces are.
#include "base/text.hpp"
#include "fuzz.hpp"
#include "pmix_server.h"
#include "services/mpi/pmix_frames.hpp"

#include <algorithm>
#include <string>

namespace muster::fuzz {
namespace {

using namespace mpi;

struct Heard {
  std::vector<PmixEvent> events;
  bool is_torn = false;
};

Heard read_messages(std::string_view bytes, std::size_t step) {
  PmixReader reader;
  Heard heard;
  for (std::size_t i = 0; i < bytes.size() && !heard.is_torn; i += step) {
    auto events = reader.feed(bytes.substr(i, step));
    heard.is_torn = !events;
    if (events) {
      heard.events.insert(heard.events.end(), events->begin(), events->end());
    }
  }
  return heard;
}

void check_server(std::string_view bytes, std::size_t step) {
  const Heard torn = read_messages(bytes, step);
  const Heard whole = read_messages(bytes, bytes.size() + 1);
  require(torn.is_torn == whole.is_torn, "tearing changes nothing");
  require(whole.is_torn || torn.events == whole.events, "tearing changes no event");
}

/// The server's messages for these bytes, and its exit code.
std::pair<Heard, int> serve(std::string_view bytes, std::size_t step) {
  said said{};
  const int code = run_pmix_server(bytes.data(), bytes.size(), &said);
  const Heard heard = read_messages({said.bytes, said.size}, step * 16);
  require(!heard.is_torn, "muster understands the server");
  return {heard, code};
}

template <typename Event>
std::size_t count(const Heard& heard) {
  return static_cast<std::size_t>(std::count_if(heard.events.begin(), heard.events.end(), [](const PmixEvent& event) {
    return std::holds_alternative<Event>(event);
  }));
}

/// A line is a node: its host, and a rank for each byte behind a blank. A hundred of them are enough.
void check_job(std::string_view bytes, std::size_t step) {
  const std::string_view text = bytes.substr(0, 100);
  PmixJob job{"name", "/folder", 0, {}};
  int rank = 0;
  for (const std::string& line : split(text, '\n')) {
    PmixNode node{line.substr(0, line.find(' ')), {}};
    for (std::size_t i = node.host.size(); i < line.size(); ++i) {
      node.ranks.push_back(rank++);
    }
    job.nodes.push_back(std::move(node));
  }
  job.local_node = static_cast<int>(step % job.nodes.size());
  const auto& own = job.nodes[static_cast<std::size_t>(job.local_node)].ranks;
  const std::string sent = write_job(job) + write_fenced(1, bytes) + write_fenced(2, std::nullopt);
  const auto [heard, code] = serve(sent, step);
  require(code == 0, "the server understands muster");
  require(count<PmixReady>(heard) == 1, "it is ready once");
  std::size_t next = 0;
  for (const PmixEvent& event : heard.events) {
    if (const auto* const environment = std::get_if<RankEnvironment>(&event)) {
      require(next < own.size() && environment->rank == own[next], "the ranks of its node");
      require(environment->variables.size() == 2, "with their variables");
      ++next;
    }
  }
  require(next == own.size(), "all ranks of its node");
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  if (size < 3) {
    return 0;
  }
  const std::string_view text = fuzz::text_of(data, size).substr(2);
  const std::size_t step = std::max<std::size_t>(data[1], 1);
  switch (data[0] % 3) {
    case 0:
      fuzz::check_server(text, step);
      break;
    case 1:
      (void)fuzz::serve(text, step);
      break;
    default:
      fuzz::check_job(text, step);
  }
  return 0;
}
