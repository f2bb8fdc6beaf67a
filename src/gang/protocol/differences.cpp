// One table of the facts that all agents must agree on, and one loop over it.
#include "gang/protocol/differences.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace muster::gang {
namespace {

std::string text_of(const std::string& value) {
  return value;
}
std::string text_of(int value) {
  return std::to_string(value);
}
std::string text_of(const std::optional<int>& value) {
  return value ? std::to_string(*value) : "not given";
}
std::string text_of(const std::vector<RoleSize>& sizes) {
  return to_text(sizes);
}
std::string text_of(const std::vector<std::string>& names) {
  return join(names, ",");
}
std::string text_of(const std::vector<RoleEndpoints>& roles) {
  std::vector<std::string> texts;
  texts.reserve(roles.size());
  for (const RoleEndpoints& role : roles) {
    texts.push_back(role.role + "=" + join(role.endpoints, ","));
  }
  return join(texts, " ");
}

struct Fact {
  const char* name;
  bool (*is_same)(const JobFacts& one, const JobFacts& other);
  std::string (*text)(const JobFacts& facts);
  const char* advice = "";  ///< what the user may do, where the two texts alone do not say it
};

template <auto kMember>
constexpr Fact fact(const char* name) {
  return {name,
          [](const JobFacts& one, const JobFacts& other) { return one.*kMember == other.*kMember; },
          [](const JobFacts& facts) { return text_of(facts.*kMember); }};
}

/// Who does not know its template's digest is no agent that starts anything.
bool is_same_template(const JobFacts& one, const JobFacts& other) {
  return one.template_digest.empty() || other.template_digest.empty() ||
         one.template_digest == other.template_digest;
}

constexpr Fact kShare = {
    "part of a host",
    [](const JobFacts& one, const JobFacts& other) { return one.are_tasks == other.are_tasks; },
    [](const JobFacts& facts) {
      return std::string(facts.are_tasks ? "one process of several" : "the whole host");
    },
    ": start one process for each accelerator on every host, or one for each host; give all "
    "--nproc-per-node 1 where one host is to have a single process"};

/// Only the mode that it describes has a name that all know.
std::string describe_template(const JobFacts& facts) {
  return facts.mode + ", digest " + facts.template_digest;
}

constexpr auto kFacts = std::to_array<Fact>(
    {fact<&JobFacts::job_id>("job"),
     kShare,
     fact<&JobFacts::total_slots>("number of workers in all"),
     fact<&JobFacts::most_nodes>("number of nodes"),
     fact<&JobFacts::least_nodes>("least number of nodes"),
     fact<&JobFacts::mode>("mode"),
     {"template",
      is_same_template,
      describe_template,
      ": give all nodes the same file by --template, or for a mode that is built in the "
      "same muster, and the same --mpi-start"},
     fact<&JobFacts::roles>("list of roles"),
     fact<&JobFacts::endpoints>("list of endpoints"),
     fact<&JobFacts::success_roles>("list of roles that decide success")});

/// Of two long texts what follows their common beginning, so that the difference is seen.
std::string split(const std::string& text, const std::string& other) {
  constexpr std::size_t kShown = 100;
  constexpr std::size_t kBefore = 20;
  if (text.size() <= kShown && other.size() <= kShown) {
    return text;
  }
  const auto differs = std::mismatch(text.begin(), text.end(), other.begin(), other.end()).first;
  const auto common = static_cast<std::size_t>(differs - text.begin());
  const std::size_t from = common > kBefore ? common - kBefore : 0;
  return (from > 0 ? "..." : "") + shortened(valid_utf8(text.substr(from)), kShown);
}

}  // namespace

std::string describe_difference(const JobFacts& its, const JobFacts& leaders) {
  for (const Fact& fact : kFacts) {
    if (!fact.is_same(its, leaders)) {
      const std::string here = fact.text(its);
      const std::string there = fact.text(leaders);
      return std::string("its ") + fact.name + " is '" + split(here, there) +
             "', the leader's is '" + split(there, here) + "'" + fact.advice;
    }
  }
  return {};
}

}  // namespace muster::gang
