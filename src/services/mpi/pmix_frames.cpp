// Encodes and decodes the frames of the PMIx server: the counterpart of src/services/mpi/pmix_server/frames.c.
#include "services/mpi/pmix_frames.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace muster::mpi {
namespace {

/// More than any job needs.
constexpr std::uint32_t kMostOfFrame = std::uint32_t{512} << 20U;

class FrameWriter {
 public:
  explicit FrameWriter(char kind) { bytes_ += kind; }

  FrameWriter& number(std::uint32_t number) {
    append(bytes_, number);
    return *this;
  }
  FrameWriter& text(std::string_view text) {
    number(static_cast<std::uint32_t>(text.size()));
    return rest(text);
  }
  FrameWriter& rest(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  std::string finish() const {
    std::string frame;
    append(frame, static_cast<std::uint32_t>(bytes_.size()));
    return frame + bytes_;
  }

 private:
  static void append(std::string& to, std::uint32_t number) {
    to.append(reinterpret_cast<const char*>(&number), sizeof number);
  }

  std::string bytes_;
};

/// Reads a frame's fields from the front. A missing field is empty and sets `is_torn`.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}

  std::uint32_t number() {
    std::uint32_t number = 0;
    const std::string_view taken = take(sizeof number);
    if (!taken.empty()) {
      std::memcpy(&number, taken.data(), sizeof number);
    }
    return number;
  }
  int signed_number() { return static_cast<int>(number()); }
  std::string text() { return std::string(take(number())); }
  std::string rest() { return std::string(take(bytes_.size())); }
  bool is_empty() const { return bytes_.empty(); }
  bool is_torn() const { return is_torn_; }

 private:
  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) {
      is_torn_ = true;
      bytes_ = {};
      return {};
    }
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  std::string_view bytes_;
  bool is_torn_ = false;
};

RankEnvironment read_environment(Fields& fields) {
  RankEnvironment environment{fields.signed_number(), {}};
  while (!fields.is_empty()) {
    environment.variables.push_back(fields.text());
  }
  return environment;
}

FenceReached read_fence(Fields& fields) {
  FenceReached fence;
  fence.number = fields.number();
  for (std::uint32_t left = fields.number(); left > 0 && !fields.is_torn(); --left) {
    fence.ranks.push_back(fields.signed_number());
  }
  fence.part = fields.rest();
  return fence;
}

RankMessage read_log_text(Fields& fields) {
  const std::uint32_t number = fields.number();
  const int rank = fields.signed_number();
  const bool is_packed = fields.number() != 0;
  const std::string bytes = fields.rest();
  RankMessage said{number, rank, is_packed ? unpack_help(bytes) : bytes};
  if (!said.text.empty() && said.text.back() != '\n') {
    said.text += '\n';
  }
  return said;
}

std::optional<PmixEvent> read_event(char kind, Fields& fields) {
  switch (kind) {
    case 'E':
      return read_environment(fields);
    case 'K':
      return PmixReady{fields.text()};
    case 'X':
      return PmixRefused{fields.text()};
    case 'C':
      return RankConnected{fields.signed_number()};
    case 'D':
      return RankFinalized{fields.signed_number()};
    case 'A': {
      const int rank = fields.signed_number();
      const int code = fields.signed_number();
      return RankAborted{rank, code, fields.text()};
    }
    case 'S':
      return read_log_text(fields);
    case 'F':
      return read_fence(fields);
    default:
      return std::nullopt;
  }
}

Error torn() {
  return {ErrorKind::BadData, "the PMIx server has sent an unknown message"};
}

}  // namespace

std::string write_job(const PmixJob& job) {
  FrameWriter frame('J');
  frame.text(job.name).text(job.folder);
  frame.number(static_cast<std::uint32_t>(job.local_node));
  frame.number(static_cast<std::uint32_t>(job.nodes.size()));
  for (const PmixNode& node : job.nodes) {
    frame.text(node.host).number(static_cast<std::uint32_t>(node.ranks.size()));
    for (const int rank : node.ranks) {
      frame.number(static_cast<std::uint32_t>(rank));
    }
  }
  return frame.finish();
}

std::string write_fenced(std::uint32_t number, std::optional<std::string_view> parts) {
  return FrameWriter('R').number(number).number(parts ? 1 : 0).rest(parts.value_or("")).finish();
}

std::string write_shown(std::uint32_t number) {
  return FrameWriter('T').number(number).finish();
}

std::string unpack_help(std::string_view packed) {
  const auto take_number = [&packed] {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < sizeof number && i < packed.size(); ++i) {
      number = number << 8U | static_cast<unsigned char>(packed[i]);
    }
    packed.remove_prefix(std::min(sizeof number, packed.size()));
    return number;
  };
  const auto take_text = [&packed, &take_number] {
    const bool is_one = take_number() == 1;
    const std::size_t said = take_number();  // before the remaining size is computed
    const std::size_t size = std::min(said, packed.size());
    const std::string_view text = packed.substr(0, is_one ? size : 0);
    packed.remove_prefix(size);
    return text.substr(0, text.find('\0'));
  };
  (void)take_text();  // the file of the message
  (void)take_text();  // its topic
  const bool has_text = take_number() == 1 && packed.starts_with('\1');
  packed.remove_prefix(std::min<std::size_t>(1, packed.size()));
  return has_text ? std::string(take_text()) : std::string();
}

Result<std::vector<PmixEvent>> PmixReader::feed(std::string_view bytes) {
  pending_ += bytes;
  std::vector<PmixEvent> events;
  std::string_view left = pending_;
  std::uint32_t size = 0;
  while (left.size() >= sizeof size) {
    std::memcpy(&size, left.data(), sizeof size);
    if (size == 0 || size > kMostOfFrame) {
      return torn();
    }
    if (left.size() - sizeof size < size) {
      break;
    }
    Fields fields(left.substr(sizeof size + 1, size - 1));
    auto event = read_event(left[sizeof size], fields);
    if (!event || fields.is_torn() || !fields.is_empty()) {
      return torn();
    }
    events.push_back(std::move(*event));
    left.remove_prefix(sizeof size + size);
  }
  pending_.erase(0, pending_.size() - left.size());
  return events;
}

}  // namespace muster::mpi
