// Which variables are meant, and which are merely there.
#include "compat/leftovers.hpp"

#include "base/text.hpp"

#include <array>
#include <utility>

namespace muster {
namespace {

/// What says who the nodes are, and the option that says the same.
constexpr auto kVariables = std::to_array<std::pair<const char*, const char*>>({
    {"RANK", "node-rank"},
    {"NODE_RANK", "node-rank"},
    {"WORLD_SIZE", "nnodes"},
    {"NNODES", "nnodes"},
    {"NUM_NODES", "nnodes"},
    {"NODE_COUNT", "nnodes"},
    {"MASTER_ADDR", "master-addr"},
    {"MASTER_PORT", "master-port"},
    {"TF_CONFIG", ""},
    {"TF_PS_HOSTS", ""},
    {"TF_WORKER_HOSTS", ""},
});

/// Those that say something else than the command line: many lines pass on what is set.
std::vector<std::string> names_of_ignored(const Translation& t) {
  std::vector<std::string> names;
  for (const auto& [variable, option] : kVariables) {
    const auto value = t.snapshot.variable(variable);
    const auto translated = t.settings.find(option);
    const auto given =
        translated == t.settings.end() ? t.find(option) : std::optional(translated->second);
    if (value && !value->empty() && (!given || given->value != *value)) {
      names.emplace_back(variable);
    }
  }
  return names;
}

std::string count_of_nodes(const Translation& t) {
  const auto translated = t.settings.find("nnodes");
  if (translated != t.settings.end()) {
    return translated->second.value;
  }
  const auto own = t.line.settings.find("nnodes");
  return own ? own->value : "1";
}

std::string original_of_line(const Translation& t) {
  return t.line.compat == nullptr ? "torchrun" : original_of(*t.line.compat);
}

const char* describe_leftover(const BareSign& sign, bool is_about_nodes) {
  return is_about_nodes          ? "the command line says which nodes there are"
         : sign.is_list_of_tasks ? "it is for TensorFlow"
                                 : "what is there does not describe one of several nodes";
}

}  // namespace

void leave_out_leftovers(Translation& t, bool is_about_nodes) {
  const bool is_decided = t.line.settings.has("platform") || t.settings.contains("platform");
  const auto sign =
      t.is_whole && !is_decided ? find_bare_sign(t.snapshot, t.line.settings) : std::nullopt;
  // Tasks of TensorFlow's are none of torchrun's nodes, however well they are described.
  if (!sign || (!is_about_nodes && sign->is_whole && !sign->is_list_of_tasks)) {
    return;
  }
  const std::string original = original_of_line(t);
  if (const auto names = names_of_ignored(t); !names.empty()) {
    t.line.notices.push_back("ignoring " + join(names, ", ") + ": " + original + " does not read " +
                             (names.size() == 1 ? "it" : "them") + ", and " +
                             describe_leftover(*sign, is_about_nodes));
  }
  const std::string nodes = count_of_nodes(t);
  t.set("platform",
        {nodes == "1" || nodes == "1:1" ? "single" : "flags",
         {SourceKind::Default, original + ", which does not read " + sign->source.name}});
}

}  // namespace muster
