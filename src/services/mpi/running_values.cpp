// Merges PMIx fences and ssh keys.
#include "services/mpi/running_values.hpp"

#include "base/text.hpp"

namespace muster {
namespace {

constexpr int kMostRank = 10'000'000;
constexpr char kSaid = '+';
constexpr char kAbsent = '-';

}  // namespace

std::string Encoding<Fence>::write(const Fence& fence) {
  return fence.absent_rank ? kAbsent + std::to_string(*fence.absent_rank) : kSaid + fence.said;
}

Result<Fence> Encoding<Fence>::read(std::string_view bytes) {
  if (bytes.starts_with(kSaid)) {
    return Fence{std::string(bytes.substr(1))};
  }
  const auto rank =
      bytes.starts_with(kAbsent) ? parse_integer(std::string(bytes.substr(1)), 0, kMostRank) : std::nullopt;
  if (!rank) {
    return Error{ErrorKind::BadData, "expected '+' and data, or '-' and a rank"};
  }
  return Fence{{}, static_cast<int>(*rank)};
}

Result<Fence> FenceValue::merge(const std::vector<Contribution<Fence>>& all) {
  Fence merged;
  for (const Contribution<Fence>& node : all) {
    if (node.value.absent_rank) {
      return node.value;
    }
    merged.said += node.value.said;
  }
  return merged;
}

Result<std::vector<mpi::SshNode>> SshKeysValue::merge(std::vector<Contribution<mpi::SshNode>> all) {
  std::vector<mpi::SshNode> nodes;
  for (Contribution<mpi::SshNode>& node : all) {
    node.value.address = std::move(node.address);
    nodes.push_back(std::move(node.value));
  }
  return nodes;
}

}  // namespace muster
