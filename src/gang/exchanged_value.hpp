#pragma once

// Makes a key of the exchange from a type that describes one value on which the nodes agree.
//
// The type has `kName`, `kMostOfNode` and `kMostMerged` (limits in bytes), what a node contributes (`Own`), what all
// nodes get (`Agreed`), and
//
//   static Result<Agreed> merge(std::vector<Contribution<Own>> all);  // as `gang::Merge`, in the order of node ranks
//
// and, where they apply: `kPhase`; `std::string pending(const std::vector<gang::NodePart>&)`; and
// `contribute(const StartupFacts&)`, by which the agent contributes before it joins (startup_values.hpp).
// A text is exchanged unchanged, and all else as JSON by its `describe`, unless `Encoding` is specialized.

#include "base/ranks.hpp"
#include "base/result.hpp"
#include "gang/events.hpp"
#include "gang/exchange_values.hpp"
#include "gang/protocol/field_io.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

/// The value of one node.
template <typename Own>
struct Contribution {
  NodeRank node;
  std::string address;  ///< see `gang::NodePart`
  Own value;
};

/// The bytes of a value: JSON by its `describe`. A value of another form has a specialization.
template <typename T>
struct Encoding {
  static std::string write(const T& value) { return gang::fields::write_json(value); }
  static Result<T> read(std::string_view bytes) { return gang::fields::read_json<T>(bytes); }
};
template <>
struct Encoding<std::string> {
  static std::string write(const std::string& text) { return text; }
  static Result<std::string> read(std::string_view bytes) { return std::string(bytes); }
};

template <typename Value>
[[nodiscard]] Result<std::string> merge_parts(const std::vector<gang::NodePart>& parts) {
  using Own = typename Value::Own;
  std::vector<Contribution<Own>> all;
  all.reserve(parts.size());
  for (const gang::NodePart& part : parts) {
    auto value = Encoding<Own>::read(part.bytes);
    if (!value) {
      return Error{ErrorKind::System,
                   "of node " + to_string(part.node) + " is missing or torn: " + value.error().message};
    }
    all.push_back({part.node, std::string(part.address), std::move(*value)});
  }
  return Encoding<typename Value::Agreed>::write(TRY(Value::merge(std::move(all))));
}

template <typename Value>
gang::ExchangeKey key_of() {
  gang::ExchangeKey key{Value::kName, gang::Phase::BeforeStart, Value::kMostOfNode, Value::kMostMerged,
                        merge_parts<Value>};
  if constexpr (requires { Value::kPhase; }) {
    key.phase = Value::kPhase;
  }
  if constexpr (requires { Value::pending; }) {
    key.pending = Value::pending;
  }
  return key;
}

/// The contribution of this node to a value of all nodes, or only of `nodes`.
template <typename Value>
gang::Contributed contribution_of(const typename Value::Own& own, std::vector<NodeRank> nodes = {}) {
  return {Value::kName, Encoding<typename Value::Own>::write(own), std::move(nodes)};
}

/// Fails with `BadData`.
template <typename Value>
[[nodiscard]] Result<typename Value::Agreed> read_agreed(std::string_view merged) {
  auto agreed = Encoding<typename Value::Agreed>::read(merged);
  return agreed ? std::move(agreed)
                : Error{ErrorKind::BadData,
                        "'" + std::string(Value::kName) + "' of all nodes cannot be read: " + agreed.error().message};
}

/// Finds the merged value among those for a start; empty: no node has contributed to it.
template <typename Value>
std::optional<typename Value::Agreed> find_agreed(const gang::Exchanged& merged) {
  const auto found = merged.find(Value::kName);
  return found == merged.end()
             ? std::nullopt
             : std::optional(read_agreed<Value>(found->second).value());  // written by the same program
}

}  // namespace muster
