// Ranks where their pids tell them, else how many clients of which address.
#include "services/torch_store/missing_ranks.hpp"

#include "base/rank_words.hpp"
#include "base/text.hpp"
#include "services/torch_store/awaited_keys.hpp"

#include <map>
#include <set>
#include <vector>

namespace muster {
namespace {

/// Bytes of a key that are shown.
constexpr std::size_t kMostShown = 200;

std::string describe_clients(const store::AwaitedKey& awaited,
                             const std::string& here,
                             const RankOf& rank_of) {
  std::set<int> ranks;
  std::map<std::string, std::size_t> others;
  for (const store::Process& process : awaited.processes) {
    if (const auto rank = rank_of_process(process, here, rank_of)) {
      ranks.insert(*rank);
    } else {
      ++others[process.address];
    }
  }
  std::vector<std::string> words;
  if (!ranks.empty()) {
    words.push_back(describe_ranks(std::vector<int>(ranks.begin(), ranks.end())));
  }
  for (const auto& [address, count] : others) {
    words.push_back(count_of(count, "client") + " of " + address);
  }
  if (awaited.clients > awaited.processes.size()) {
    words.push_back(std::to_string(awaited.clients - awaited.processes.size()) + " more");
  }
  return join(words, " and ");
}

}  // namespace

std::string describe_awaited(const store::AwaitedKeys& awaited,
                             const std::string& here,
                             const RankOf& rank_of) {
  std::vector<std::string> words;
  for (const store::AwaitedKey& one : awaited.keys) {
    words.push_back("'" + one_line(one.key, kMostShown) + "'" +
                    (words.empty() ? " was waited for by " : " by ") +
                    describe_clients(one, here, rank_of));
  }
  if (words.empty()) {
    return {};
  }
  return "in the store of the ranks " + join(words, ", ") + (awaited.are_all ? "" : ", and others");
}

}  // namespace muster
