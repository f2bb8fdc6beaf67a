// Whatever listens where a cloud's metadata server would: as an answer of HTTP, and as what each cloud puts into one.
#include "notices/metadata.hpp"

#include "fuzz.hpp"

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

void check(std::string_view bytes) {
  const auto part = read_http_answer(bytes, /*is_all=*/false);
  const auto all = read_http_answer(bytes, /*is_all=*/true);
  require(!all || *all, "all of it is an answer or none");
  if (part && *part) {
    require(all && (*all)->body == (*part)->body, "what is whole stays what it is");
  }
  if (all) {
    check_answer(**all);
  }
  check_answer({200, std::string(bytes)});
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::check(muster::fuzz::text_of(data, size));
  return 0;
}
