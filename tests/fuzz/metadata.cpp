// Whatever listens where a cloud's metadata server would: as an answer of HTTP, and as what each cloud puts into one.
#include "notices/metadata.hpp"

#include "fuzz.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace muster::fuzz {
namespace {

void check_answer(const HttpAnswer& answer) {
  constexpr std::chrono::system_clock::time_point kNow{};
  for (const Cloud cloud : {Cloud::Aws, Cloud::Gcp, Cloud::Azure}) {
    for (const char* own_name : {"", "own"}) {
      const auto notice = read_cloud_notice(cloud, answer, own_name, kNow);
      if (!notice) {
        require(!notice.error().message.empty(), "an error says something");
      } else if (*notice) {
        require((*notice)->count() >= 0, "nobody has less than no time");
      }
    }
  }
  const auto word = read_metadata_word(answer);
  require(!word || word->find_first_of("\r\n ") == std::string::npos, "a word is one word");
  require(decode_reply(encode_reply(MetadataReply{answer, {}})).has_value(), "what was read crosses the pipe");
}

/// Reads these bytes in pieces of a size: the answer before the connection ends, and by its end.
std::pair<std::optional<HttpAnswer>, std::optional<HttpAnswer>> read_pieces(std::string_view bytes, std::size_t piece) {
  HttpReader reader;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    auto answer = reader.feed(bytes.substr(0, piece));
    if (!answer || *answer) {
      return {answer ? *answer : std::nullopt, answer ? *answer : std::nullopt};
    }
  }
  auto last = reader.end();
  return {std::nullopt, last ? std::optional(*last) : std::nullopt};
}

void check(std::string_view bytes) {
  const auto [part, all] = read_pieces(bytes, bytes.size());
  require(!part || all, "what is whole stays whole");
  const auto [part_by_bytes, all_by_bytes] = read_pieces(bytes, 1);
  require(part.has_value() == part_by_bytes.has_value() && all.has_value() == all_by_bytes.has_value() &&
              (!all || (all->status == all_by_bytes->status && all->body == all_by_bytes->body)),
          "pieces change nothing");
  if (all) {
    check_answer(*all);
  }
  check_answer({200, std::string(bytes)});
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::check(muster::fuzz::text_of(data, size));
  return 0;
}
