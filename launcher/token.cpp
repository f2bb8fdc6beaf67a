// Answers `muster token`: a secret that nobody guesses, on one line.
#include "token.hpp"

#include "explain.hpp"

#include "gang/net/proof.hpp"
#include "gang/net/token.hpp"
#include "options/syntax.hpp"

#include <array>
#include <vector>

namespace muster {
namespace {

constexpr auto kTable = std::to_array<Option>({
    {"help", 'h', nullptr, "Token", "Print this text."},
});

}  // namespace

OptionTable token_options() {
  return {kTable, {}, {}};
}

Result<> read_token_line(CommandLine& line, std::span<const std::string> tokens) {
  std::vector<std::string> flags;
  flags.reserve(tokens.size());
  for (const std::string& token : tokens) {
    if (!token.starts_with('-')) {
      return Error{ErrorKind::BadUsage,
                   "'" + token + "' is nothing that muster token takes; it has options only"};
    }
    flags.push_back(with_dashes(token));
  }
  return read_flags(flags, token_options(), line.settings);
}

Result<int> run_token() {
  return print(gang::random_digits(gang::kGoodTokenBytes) + "\n");
}

}  // namespace muster
