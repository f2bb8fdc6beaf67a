#pragma once

#include "base/result.hpp"
#include "base/source.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// What becomes of a name that is not known.
enum class UnknownNames {
  Refused,
  Text  ///< it stays as it is written, as with Python's safe_substitute
};

/// What the user wants each line to begin with, such as "[${role_name}${local_rank}]:". Written as
/// torchrun's: ${name} or $name, and $$ is a dollar sign.
class PrefixTemplate {
 public:
  /// Fails for a name that is not known, if that is refused. The empty text is no template.
  [[nodiscard]] static Result<PrefixTemplate> read(
      const Sourced<std::string>& text, UnknownNames unknown_names = UnknownNames::Refused);

  /// True when there is none: lines begin with the rank.
  [[nodiscard]] bool is_empty() const { return pieces_.empty(); }
  /// True when the name stands in it.
  [[nodiscard]] bool needs(std::string_view name) const;
  /// The text with each name replaced; a name that `values` lacks becomes nothing.
  [[nodiscard]] std::string fill(const std::map<std::string, std::string>& values) const;

 private:
  struct Piece {
    bool is_name = false;
    std::string text;
  };

  std::vector<Piece> pieces_;
};

}  // namespace muster
