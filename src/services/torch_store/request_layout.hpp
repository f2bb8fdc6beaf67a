#pragma once

// What follows the number of an operation on the wire, and the request that is made of it.

#include "services/torch_store/operation.hpp"
#include "services/torch_store/request.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace muster::store {

enum class Field {
  Key,    ///< a length of 8 bytes, and so many
  Value,  ///< the same
  Nonce,  ///< 4 bytes
  Amount  ///< 8 bytes, with a sign
};

struct Layout {
  std::span<const Field> fields;
  /// 8 bytes say first how often the fields come.
  bool is_list = false;
};

/// Of the greeting nothing: it is read before there is a request.
[[nodiscard]] Layout layout_of(Operation operation);

/// What was read for the fields of the layout.
struct Contents {
  std::vector<std::string> texts;  ///< keys and values, in order
  std::uint64_t number = 0;        ///< the nonce, or the bits of the amount
};

/// `contents` are those of its layout. There is no request for the greeting.
[[nodiscard]] Request make_request(Operation operation, Contents contents);

}  // namespace muster::store
