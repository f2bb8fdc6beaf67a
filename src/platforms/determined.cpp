// Determined AI: a task of several containers is told by an API of the master alone who they are; its own
// launch layers ask it and hand DET_CHIEF_IP on. What the environment says is this container's slots, and
// for a trial how many slots all containers have together. So the number of nodes can be known, ranks go by
// arrival, and where the leader is must be said. RANK and WORLD_SIZE are not set.
// Source: determined-ai/determined, master/pkg/tasks (DET_*), harness/determined/_info.py.
#include "platforms/json_values.hpp"
#include "platforms/slots.hpp"

#include "base/text.hpp"

namespace muster {
namespace {

constexpr const char* kConfig = "DET_EXPERIMENT_CONFIG";

/// "[0,1,2]" are three.
Result<std::optional<Sourced<int>>> count_own_slots(const Snapshot& snapshot) {
  const auto text = sourced_variable(snapshot, "DET_SLOT_IDS");
  if (!text) {
    return std::optional<Sourced<int>>();
  }
  constexpr const char* kForm = "a list of numbers such as [0,1]";
  const auto document = read_json(*text, kForm);
  if (!document) {
    return document.error();
  }
  const json::array* const ids = document->if_array();
  if (ids == nullptr) {
    return wrong_value(*text, kForm);
  }
  return std::optional(Sourced<int>{static_cast<int>(ids->size()), text->source});
}

/// The slots of all containers. The rest of the experiment's configuration is nobody's business.
Result<std::optional<Sourced<int>>> count_all_slots(const Snapshot& snapshot) {
  const auto text = sourced_variable(snapshot, kConfig);
  boost::system::error_code error;
  const json::value document = text ? json::parse(text->value, error) : json::value();
  const json::object* const members = error ? nullptr : document.if_object();
  const json::value* const resources =
      members == nullptr ? nullptr : members->if_contains("resources");
  const json::object* const needs = resources == nullptr ? nullptr : resources->if_object();
  const json::value* const slots =
      needs == nullptr ? nullptr : needs->if_contains("slots_per_trial");
  if (slots == nullptr) {
    return std::optional<Sourced<int>>();
  }
  const Source place = part_of(text->source, " resources.slots_per_trial");
  const auto count = read_json_number(place, slots, 0, "a number of slots");
  return count ? Result<std::optional<Sourced<int>>>(std::optional(Sourced<int>{*count, place}))
               : count.error();
}

Result<> read_nodes(PlatformFacts& facts, const Snapshot& snapshot) {
  const auto own = count_own_slots(snapshot);
  const auto all = count_all_slots(snapshot);
  if (!own || !all) {
    return own ? all.error() : own.error();
  }
  if (*own && (*own)->value > 0) {
    facts.slots = {std::to_string((*own)->value), (*own)->source};
  }
  const auto id = sourced_variable(snapshot, "DET_ALLOCATION_ID");
  if (!*own || !*all) {
    facts.no_nodes = Error{ErrorKind::BadEnvironment,
                           id->source.name + " is '" + id->value +
                               "', and how many containers it has only Determined's API says; "
                               "give --nnodes"};
    return {};
  }
  const int each = std::max((*own)->value, 1);
  const int together = std::max((*all)->value, 1);
  if (together % each != 0) {
    return contradiction({std::to_string(together), (*all)->source},
                         *sourced_variable(snapshot, (*own)->source.name),
                         "all slots must be a multiple of those of one container");
  }
  facts.nodes = {together / each, part_of((*all)->source, " / " + (*own)->source.name)};
  return {};
}

Result<Sourced<int>> read_run(const Sourced<std::string>& text) {
  const auto run = parse_integer(text.value, 1, kMostNodes);
  if (!run) {
    return wrong_value(text, "the number of this run, from 1");
  }
  return Sourced<int>{*run - 1, text.source};
}

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  return first_set(snapshot, {"DET_ALLOCATION_ID"});
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  PlatformFacts facts;
  if (auto read = read_nodes(facts, snapshot); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.master_address, snapshot, "DET_CHIEF_IP", read_address); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.restart_count, snapshot, "DET_TRIAL_RUN_ID", read_run); !read) {
    return read.error();
  }
  facts.job_id = sourced_variable(snapshot, "DET_ALLOCATION_ID");
  return facts;
}

}  // namespace

const Platform kDetermined = {.name = "determined",
                              .signs = "DET_ALLOCATION_ID",
                              .find_sign = find_sign,
                              .read = read_platform,
                              .may_lack_rank = true};

}  // namespace muster
