// Which lines are written a second time. Pure.
#include "output/line_filter.hpp"

#include <algorithm>

namespace muster {
namespace {

/// Splits at single commas; two in a row, read from the left, are one that belongs to a text.
std::vector<std::string> split_texts(std::string_view value) {
  std::vector<std::string> texts(1);
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != ',') {
      texts.back() += value[i];
    } else if (i + 1 < value.size() && value[i + 1] == ',') {
      texts.back() += value[i++];
    } else {
      texts.emplace_back();
    }
  }
  return texts;
}

}  // namespace

Result<LineFilter> LineFilter::read(const Sourced<std::string>& setting) {
  LineFilter filter;
  if (setting.value.empty()) {
    return filter;
  }
  filter.texts_ = split_texts(setting.value);
  const auto is_nothing = [](const std::string& text) { return text.empty(); };
  if (std::any_of(filter.texts_.begin(), filter.texts_.end(), is_nothing)) {
    return wrong_value(setting, "texts separated by commas, with ',,' for a comma in a text");
  }
  return filter;
}

bool LineFilter::matches(std::string_view line) const {
  return std::any_of(texts_.begin(), texts_.end(), [line](const std::string& text) {
    return line.find(text) != std::string_view::npos;
  });
}

}  // namespace muster
