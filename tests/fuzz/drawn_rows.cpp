// Any bytes of three workers, drawn on a terminal: lines that have been written stay as they are, and each is there once.
// No row is wider than the terminal.
//
// A byte below 3 says who writes what follows; the first byte says how many rows and columns the terminal has.
#include "output/terminal/drawn_rows.hpp"

#include "base/display_text.hpp"
#include "base/text.hpp"
#include "fuzz.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace muster::fuzz {
namespace {

constexpr std::size_t kWorkers = 3;

/// As much of a terminal as is asked of it here, and with all the rows that it ever had.
class Screen {
 public:
  void write(std::string_view bytes) {
    TerminalParser parser;
    for (const char c : bytes) {
      using Kind = TerminalParser::Kind;
      const TerminalParser::Event event = parser.take(c);
      if (event.kind == Kind::Control) {
        obey(event.last);
      } else if (event.kind == Kind::Character) {
        rows_[row_] += event.text;
      } else if (event.kind == Kind::Sequence && event.last != 'm') {
        move(event.last, static_cast<std::size_t>(parse_integer(event.text, 1, 100).value_or(1)));
      } else {
        require(event.kind != Kind::Escape && event.kind != Kind::String && event.kind != Kind::Choice,
                "nothing else comes");
      }
    }
    require(!parser.is_within_sequence(), "what begins also ends");
  }

  std::vector<std::string> rows() const { return rows_; }

 private:
  void obey(char control) {
    require(control == '\n' || control == '\r' || control == '\t', "no other control comes");
    if (control == '\t') {
      rows_[row_] += control;  // in a line; a row has a blank instead
    }
    if (control == '\n') {
      ++row_;
      rows_.resize(std::max(rows_.size(), row_ + 1));
    }
    if (control == '\n' || control == '\r') {
      rows_[row_].clear();  // whoever begins a row here writes all of it
    }
  }

  void move(char last, std::size_t count) {
    require(last == 'A' || last == 'J', "no other sequence comes");
    if (last == 'A') {
      require(count <= row_, "the cursor stays on the screen");
      row_ -= count;
      rows_[row_].clear();
    } else {
      rows_.resize(row_ + 1);
      rows_[row_].clear();
    }
  }

  std::vector<std::string> rows_{1};
  std::size_t row_ = 0;
};

std::string plain(std::string_view text) {
  TerminalParser parser;
  std::string plain;
  for (const char c : text) {
    const TerminalParser::Event event = parser.take(c);
    plain += event.kind == TerminalParser::Kind::Character ? std::string(event.text) : std::string();
    plain += event.kind == TerminalParser::Kind::Control ? std::string(1, event.last) : std::string();
  }
  return plain;
}

class Job {
 public:
  explicit Job(std::size_t size) : columns_(1 + size / 8) { live_.set_size(4 + size % 64, columns_); }

  void write(std::size_t worker, std::string_view bytes) {
    std::string lines;
    workers_[worker].feed(bytes, lines);
    show(worker, lines);
  }

  void settle(std::size_t worker) {
    std::string lines;
    workers_[worker].settle(lines);
    show(worker, lines);
  }

  void finish(std::size_t worker) {
    std::string lines;
    workers_[worker].finish(lines);
    show(worker, lines);
    require(workers_[worker].row().empty(), "nothing is left");
  }

 private:
  void show(std::size_t worker, const std::string& lines) {
    require(lines.empty() || lines.ends_with('\n'), "lines are whole");
    lines_ += plain(lines);
    live_.set(worker, workers_[worker].row());
    std::string bytes = live_.erase() + lines;
    const std::string rows = live_.draw();
    for (const std::string& row : split(plain(rows), '\n')) {
      require(columns_of_text(row) <= columns_, "a row fits");
    }
    screen_.write(bytes + rows);
    std::string seen;
    for (const std::string& row : screen_.rows()) {
      seen.append(row) += '\n';
    }
    require(seen.starts_with(lines_), "lines stay as they are");
  }

  std::size_t columns_;
  std::array<DrawnRows, kWorkers> workers_{DrawnRows("[0] "), DrawnRows("[1] "), DrawnRows("")};
  LiveRows live_;
  Screen screen_;
  std::string lines_;
};

void check(std::size_t size, std::string_view bytes) {
  Job job(size);
  std::size_t worker = 0;
  while (!bytes.empty()) {
    const std::size_t end = std::min(
        bytes.size(),
        static_cast<std::size_t>(
            std::find_if(bytes.begin(), bytes.end(), [](char c) { return static_cast<unsigned char>(c) < kWorkers; }) -
            bytes.begin()));
    job.write(worker, bytes.substr(0, end));
    bytes.remove_prefix(end);
    if (!bytes.empty()) {
      job.settle(worker);
      worker = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
    }
  }
  for (worker = 0; worker < kWorkers; ++worker) {
    job.finish(worker);
  }
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0) {
    muster::fuzz::check(data[0], muster::fuzz::text_of(data, size).substr(1));
  }
  return 0;
}
