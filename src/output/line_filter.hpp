#pragma once

#include "base/result.hpp"
#include "base/source.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// The lines that hold at least one of some texts: torchrun's --duplicate-stdout-filters.
class LineFilter {
 public:
  /// Reads texts separated by commas, where ",," is a comma of a text. The empty value asks for
  /// nothing.
  [[nodiscard]] static Result<LineFilter> read(const Sourced<std::string>& setting);

  /// True when no line is wanted.
  [[nodiscard]] bool is_empty() const { return texts_.empty(); }
  [[nodiscard]] bool matches(std::string_view line) const;

 private:
  std::vector<std::string> texts_;
};

}  // namespace muster
