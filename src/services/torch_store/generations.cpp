// Who belongs to which generation: see the header.
#include "services/torch_store/generations.hpp"

#include <algorithm>
#include <utility>

namespace muster::store {
namespace {

/// A process is one rank, however often it comes.
std::size_t ranks_of(const Process& process, const Generation::Member& member) {
  return process.pid ? std::min<std::size_t>(member.joined_ranks, 1) : member.joined_ranks;
}

}  // namespace

Generation& Generations::join(const Process& process, bool is_arrival) {
  Generation& generation = choose(process, is_arrival);
  auto& member = generation.members[process];
  ++generation.open;
  ++member.open;
  generation.ranks -= ranks_of(process, member);
  member.joined_ranks += is_arrival ? 1 : 0;
  generation.ranks += ranks_of(process, member);
  return generation;
}

Generation& Generations::choose(const Process& process, bool is_arrival) {
  Generation* const last = process.pid ? last_of(process) : nullptr;
  if (is_arrival) {
    return last != nullptr && must_stay(*last, process) ? *last : lacking_after(last);
  }
  if (last != nullptr) {
    return *last;
  }
  return generations_.empty() ? begin() : generations_.back();
}

Generation* Generations::last_of(const Process& process) {
  const auto at = std::find_if(generations_.rbegin(), generations_.rend(), [&](const auto& one) {
    return one.members.contains(process);
  });
  return at == generations_.rend() ? nullptr : &*at;
}

bool Generations::must_stay(const Generation& generation, const Process& process) const {
  const auto& member = generation.members.at(process);
  return member.open > 0 && (member.joined_ranks == 0 || !is_complete(generation));
}

/// The first after that one, or of all, for which ranks are still to come.
Generation& Generations::lacking_after(const Generation* last) {
  const auto at = std::find_if(generations_.begin(), generations_.end(), [&](const auto& one) {
    return (last == nullptr || one.number > last->number) && !is_complete(one);
  });
  return at == generations_.end() ? begin() : *at;
}

/// Those before it that nobody has any more are over with it.
Generation& Generations::begin() {
  std::erase_if(generations_, [](const Generation& one) { return one.open == 0; });
  return generations_.emplace_back(next_++, *budget_);
}

void Generations::leave(Generation& generation, const Process& process) {
  const auto member = generation.members.find(process);
  --member->second.open;
  --generation.open;
  if (member->second.open == 0 && member->second.joined_ranks == 0) {
    generation.members.erase(member);
  }
  if (is_over(generation)) {
    generations_.remove_if([&](const Generation& one) { return &one == &generation; });
  }
}

JoinedRanks Generations::joined_ranks() const {
  JoinedRanks all;
  if (generations_.empty()) {
    return all;
  }
  all.generation = generations_.back().number;
  for (const auto& [process, member] : generations_.back().members) {
    all.ranks.insert(all.ranks.end(), ranks_of(process, member), process);
  }
  return all;
}

InitBarrier Generations::init_barrier() const {
  return generations_.empty() ? InitBarrier()
                              : InitBarrier{generations_.back().number, generations_.back().ranks};
}

bool Generations::is_complete(const Generation& generation) const {
  return generation.ranks >= workers_;
}

bool Generations::is_over(const Generation& generation) const {
  return generation.open == 0 && (is_complete(generation) || &generation != &generations_.back());
}

}  // namespace muster::store
