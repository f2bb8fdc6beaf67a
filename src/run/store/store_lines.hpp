#pragma once

// What the process of the store and the agent tell each other: a line of JSON each. Private to run/.

#include <muster/service/store_server.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace muster {

/// For the user.
struct StoreRemark {
  std::string text;
};
/// It ends: nobody is served any more.
struct StoreEnd {
  std::string why;
};
using StoreLine = std::variant<StoreRemark, StoreEnd, StoreNews>;

/// With its line end.
[[nodiscard]] std::string write_line(const StoreLine& line);

/// Puts lines together, however they are cut.
class StoreLineReader {
 public:
  /// Fails with `BadData` for what is none of these lines.
  [[nodiscard]] Result<std::vector<StoreLine>> feed(std::string_view bytes);

 private:
  std::string rest_;
};

}  // namespace muster
