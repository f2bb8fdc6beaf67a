// Any values of --redirects, --tee and --local-ranks-filter, one on a line each.
#include "run/selection.hpp"

#include "base/text.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::vector<std::string> lines = split(fuzz::text_of(data, size), '\n');
  SelectionOptions options;
  const auto fields = {&options.redirects, &options.tee, &options.local_ranks};
  auto line = lines.begin();
  for (auto* const field : fields) {
    if (line != lines.end()) {
      *field = {*line++, from_flag("--option")};
    }
  }
  const auto selection = Selection::read(options);
  if (!selection) {
    fuzz::require(selection.error().exit_code() == 64, "a flag is the command line's fault");
    return 0;
  }
  for (const int rank : {0, 1, 11, 1'000'000}) {
    const bool has_file = selection->out(LocalRank{rank}).file || selection->err(LocalRank{rank}).file;
    fuzz::require(!has_file || selection->needs_files(), "a file is announced");
  }
  return 0;
}
