// Which rows there is room for, and how they are drawn over what was drawn before.
#include "output/live_rows.hpp"

#include <algorithm>

namespace muster {
namespace {

std::string up(std::size_t rows) {
  return rows > 0 ? "\x1b[" + std::to_string(rows) + "A" : std::string();
}

}  // namespace

void LiveRows::set_height(std::size_t rows) {
  is_outdated_ = is_outdated_ || (rows != height_ && !of_.empty());
  height_ = rows;
}

void LiveRows::set(std::size_t worker, ShownRows rows) {
  const auto known = of_.find(worker);
  if (known == of_.end() ? rows.rows.empty() : known->second == rows) {
    return;
  }
  is_outdated_ = true;
  if (rows.cursor) {
    typed_to_ = worker;
  } else if (typed_to_ == worker) {
    typed_to_.reset();
  }
  if (rows.rows.empty()) {
    of_.erase(known);
  } else {
    of_.insert_or_assign(worker, std::move(rows));
  }
}

std::string LiveRows::erase() {
  if (drawn_ == 0) {
    return {};
  }
  const std::size_t below = cursor_ ? cursor_->row : drawn_;
  drawn_ = 0;
  cursor_.reset();
  is_outdated_ = !of_.empty();
  return "\r" + up(below) + "\x1b[J";
}

std::string LiveRows::draw() {
  const std::vector<std::string> rows = choose();
  drawn_ = rows.size();
  is_outdated_ = false;
  std::string text;
  for (const std::string& row : rows) {
    text.append(row) += '\n';
  }
  return text;
}

std::size_t LiveRows::count_all() const {
  std::size_t all = 0;
  for (const auto& [worker, shown] : of_) {
    all += shown.rows.size();
  }
  return all;
}

/// Who is typed to is seen in any case, the others in their order as far as there is room; the last row says how many are not.
std::vector<std::string> LiveRows::choose() {
  constexpr std::size_t kUsualHeight = 24;
  const std::size_t most = std::max<std::size_t>((height_ > 0 ? height_ : kUsualHeight) / 2, 2);
  const std::size_t all = count_all();
  std::size_t room = all > most ? most - 1 : all;
  const auto typed_to = typed_to_ ? of_.find(*typed_to_) : of_.end();
  const std::size_t own = typed_to == of_.end() ? 0 : std::min(typed_to->second.rows.size(), room);
  room -= own;
  std::vector<std::string> chosen;
  for (auto it = of_.begin(); it != of_.end(); ++it) {
    const std::size_t count = it == typed_to ? own : std::min(it->second.rows.size(), room);
    room -= it == typed_to ? 0 : count;
    choose_of(it->second, count, it == typed_to, chosen);
  }
  if (all > chosen.size()) {
    chosen.push_back("... " + std::to_string(all - chosen.size()) + " more rows");
  }
  return chosen;
}

/// The last rows, which say the newest; of who is typed to those down to the cursor at least.
void LiveRows::choose_of(const ShownRows& shown,
                         std::size_t count,
                         bool is_typed_to,
                         std::vector<std::string>& chosen) {
  std::size_t first = shown.rows.size() - count;
  if (is_typed_to) {
    first = std::min(first, shown.cursor->row);
    cursor_ = {.row = chosen.size() + shown.cursor->row - first, .before = shown.cursor->before};
  }
  const auto begin = shown.rows.begin() + static_cast<std::ptrdiff_t>(first);
  chosen.insert(chosen.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
}

std::optional<CursorPath> LiveRows::way_to_cursor() const {
  if (!cursor_) {
    return std::nullopt;
  }
  return CursorPath{.up = up(drawn_ - cursor_->row), .before = cursor_->before};
}

std::string LiveRows::leave() {
  const std::size_t below = cursor_ ? drawn_ - cursor_->row : 0;
  drawn_ = 0;
  cursor_.reset();
  is_outdated_ = !of_.empty();
  is_left_ = true;
  return below > 0 ? "\r\x1b[" + std::to_string(below) + "B" : std::string();
}

}  // namespace muster
