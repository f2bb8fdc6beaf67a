#pragma once

// What the process of the store and the agent tell each other: it a line of JSON, the agent a byte. Private to run/.

#include "services/torch_store/store_server.hpp"
#include "services/torch_store/store_awaited_keys.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace muster {

/// What the agent asks: who has arrived, who waits for which keys.
constexpr char kWhoArrived = '?';
constexpr char kWhoWaits = 'w';

/// For the user.
struct StoreNotice {
  std::string text;
};
/// It ends: nobody is served any more.
struct StoreEnd {
  std::string why;
};
using StoreMessage = std::variant<StoreNotice, StoreEnd, StoreStatus, store::AwaitedKeys>;

/// With its line end.
[[nodiscard]] std::string write_line(const StoreMessage& line);

/// Puts lines together, however they are cut.
class StoreLineReader {
 public:
  /// Fails with `BadData` for what is none of these lines.
  [[nodiscard]] Result<std::vector<StoreMessage>> feed(std::string_view bytes);

 private:
  std::string rest_;
};

}  // namespace muster
