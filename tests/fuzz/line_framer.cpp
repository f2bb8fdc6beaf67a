// Any bytes of a worker, torn anywhere: what comes out is what went in, and the prefixes.
//
// The first byte says how many bytes describe the pieces; 0 is "flush the progress bar".
#include "output/line_framer.hpp"

#include "fuzz.hpp"

#include <algorithm>
#include <string>

namespace muster::fuzz {
namespace {

constexpr char kPrefix = '\x01';

std::string without(std::string text, char removed) {
  text.erase(std::remove(text.begin(), text.end(), removed), text.end());
  return text;
}

struct Torn {
  std::string out;
  bool was_flushed = false;
};

Torn feed_torn(LineFramer framer, std::string_view pieces, std::string_view bytes) {
  Torn torn;
  for (std::size_t i = 0; !bytes.empty(); ++i) {
    const std::size_t length = pieces.empty() ? bytes.size() : static_cast<unsigned char>(pieces[i % pieces.size()]);
    if (length == 0) {
      torn.was_flushed = true;
      framer.flush_progress(torn.out);
      framer.feed(bytes.substr(0, 1), torn.out);
      bytes.remove_prefix(1);
      continue;
    }
    framer.feed(bytes.substr(0, length), torn.out);
    bytes.remove_prefix(std::min(length, bytes.size()));
  }
  framer.finish(torn.out);
  return torn;
}

void check(std::string_view pieces, std::string bytes) {
  std::replace(bytes.begin(), bytes.end(), kPrefix, '\x02');
  const LineFramer framer(std::string(1, kPrefix));
  const Torn torn = feed_torn(framer, pieces, bytes);
  if (torn.was_flushed) {  // a line end after each flush
    require(without(without(torn.out, kPrefix), '\n') == without(bytes, '\n'), "no byte is lost");
    return;
  }
  const bool is_whole = bytes.empty() || bytes.ends_with('\n');
  require(without(torn.out, kPrefix) == bytes + (is_whole ? "" : "\n"), "output is input");
  require(torn.out == feed_torn(framer, {}, bytes).out, "tearing changes nothing");
  require(torn.out.empty() || torn.out.front() == kPrefix, "a line begins with its prefix");
  for (std::size_t at = torn.out.find('\n'); at != std::string::npos && at + 1 < torn.out.size();
       at = torn.out.find('\n', at + 1)) {
    require(torn.out[at + 1] == kPrefix, "each line begins with its prefix");
  }
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  std::string_view text = fuzz::text_of(data, size);
  if (text.empty()) {
    return 0;
  }
  const std::size_t count = std::min<std::size_t>(data[0], text.size() - 1);
  fuzz::check(text.substr(1, count), std::string(text.substr(1 + count)));
  return 0;
}
