#pragma once

// Names what is wrong with a rank table, and has the memory and the text of its document.

#include "base/json.hpp"
#include "inputs/rank_table_values.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::rank_table {

/// "v0.1 (group_list)", for people.
std::string_view name_of(Form form);

/// A rank table that is not complete yet.
struct Unfinished {
  std::string reason;  ///< "initializing: 3 of 4 instances are there, job-worker-2 has no devices"
};

/// A broken rule: the member, its value and what is expected.
struct Breach {
  std::string path;      ///< "server_list[3].device[0].device_ip"
  std::string value;     ///< as written, with quotes; empty: missing
  std::string expected;  ///< completes "expected": "an address that no other device has"
  std::string code;      ///< CANN's code, such as "EI0004"; empty: none
};

// Memory for a document's values: those of 131,072 devices take 200 MB.

/// Allocates huge pages where the system has them: page faults for each 4 KiB take as long as filling the memory.
class LargePages : public json::memory_resource {
 protected:
  void* do_allocate(std::size_t size, std::size_t alignment) override;
  void do_deallocate(void* place, std::size_t size, std::size_t alignment) override;
  bool do_is_equal(const json::memory_resource& other) const noexcept override { return this == &other; }
};

/// Memory of one document, freed as a whole.
struct Memory {
  static constexpr std::size_t kFirstBlock = 64 << 10;  // bytes; each further one is twice as large

  LargePages pages;
  json::monotonic_resource values = json::monotonic_resource(kFirstBlock, &pages);
};

// Writes a document as text: a device on a line, so that people and `diff` can read a large one.

/// Writes a value on one line. Numbers with a fraction or an exponent are short, 0.1 and 1.0, with the fifteen digits
/// that survive any parser.
std::string compact(const json::value& value);

/// Writes a document, always with the same bytes, about `size` of them. Consumes the document, since it may be large.
std::string print(json::object&& root, std::size_t size = 0);

}  // namespace muster::rank_table
