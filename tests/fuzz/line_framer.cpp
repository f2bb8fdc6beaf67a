// Any bytes of a worker, torn anywhere: without a prefix what comes out is what went in; with one, each line has it once,
// and only its last state.
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

void check_unchanged(std::string_view pieces, const std::string& bytes) {
  const Torn torn = feed_torn(LineFramer(""), pieces, bytes);
  if (torn.was_flushed) {  // a line end after each flush
    require(without(torn.out, '\n') == without(bytes, '\n'), "no byte is lost");
    return;
  }
  require(torn.out == bytes + (bytes.empty() || bytes.ends_with('\n') ? "" : "\n"), "output is input");
}

void check(std::string_view pieces, std::string bytes) {
  std::replace(bytes.begin(), bytes.end(), kPrefix, '\x02');
  check_unchanged(pieces, bytes);
  const LineFramer framer(std::string(1, kPrefix));
  const Torn torn = feed_torn(framer, pieces, bytes);
  const auto lines = std::count(torn.out.begin(), torn.out.end(), '\n');
  require(std::count(torn.out.begin(), torn.out.end(), kPrefix) == lines, "each line has one prefix");
  require(torn.was_flushed || torn.out == feed_torn(framer, {}, bytes).out, "tearing changes nothing");
  std::string_view rest = torn.out;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    require(line.starts_with(kPrefix), "each line begins with its prefix");
    const std::size_t end = line.find_last_not_of('\r');
    require(line.rfind('\r', end) == std::string_view::npos, "only the last state is left");
    rest.remove_prefix(line.size() + 1);
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
