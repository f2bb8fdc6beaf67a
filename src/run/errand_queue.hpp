#pragma once

// Pieces of file work that must not overtake each other. Private to run/.

#include "errand.hpp"

#include <chrono>
#include <deque>
#include <functional>

namespace muster {

/// Does one after the other, each with its own limit from its start on.
class ErrandQueue {
 public:
  struct Piece {
    std::function<std::string()> work;
    std::chrono::milliseconds most_time;
    std::function<void(const Errand::Answer&)> then;
    bool may_be_dropped = false;
  };

  ErrandQueue(boost::asio::io_context& io, Asides& asides) : errand_(io, asides) {}

  /// None is left.
  std::function<void()> on_empty;

  void add(Piece piece);
  /// The time of those that may be dropped is over: which of them have not begun are forgotten.
  void drop();

 private:
  void start_first();

  std::deque<Piece> pieces_;  ///< the first one goes on
  Errand errand_;
};

}  // namespace muster
