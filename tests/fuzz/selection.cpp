// Any values of --redirects, --tee and --local-ranks-filter, one on a line each.
#include "fuzz.hpp"

#include <muster/base/text.hpp>
#include <muster/logs/selection.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::vector<std::string> lines = split(fuzz::text_of(data, size), '\n');
  const char* const names[] = {"redirects", "tee", "local-ranks-filter"};
  Settings settings;
  for (std::size_t i = 0; i < lines.size() && i < std::size(names); ++i) {
    settings.set(names[i], {lines[i], from_flag(std::string("--") + names[i])});
  }
  const auto selection = Selection::read(settings);
  if (!selection) {
    fuzz::require(selection.error().exit_code() == 64, "a flag is the command line's fault");
    return 0;
  }
  for (const int rank : {0, 1, 11, 1'000'000}) {
    const bool has_file =
        selection->out(LocalRank{rank}).file || selection->err(LocalRank{rank}).file;
    fuzz::require(!has_file || selection->needs_files(), "a file is announced");
  }
  return 0;
}
