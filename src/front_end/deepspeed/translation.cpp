// What the options of DeepSpeed's launcher mean together.
#include <muster/front_end/front_end.hpp>

namespace muster {
namespace {

/// -1 is "not given" for several options.
void drop_unset(Translation& t, const char* name, const char* setting) {
  if (const auto value = t.find(name); value && value->value == "-1") {
    t.settings.erase(setting);
  }
}

Result<> translate_script(Translation& t) {
  if (t.is_on("module") && t.is_on("no-python")) {
    return Error{ErrorKind::BadUsage,
                 "--module and --no_python contradict each other: a module is run by Python"};
  }
  if (t.is_on("module") && !t.line.program.empty()) {
    t.set("module", {t.line.program.front(), t.given.at("module").source});
    t.line.program.erase(t.line.program.begin());
  }
  if (t.is_on("no-local-rank")) {
    t.set("template-arguments", {"never", t.given.at("no-local-rank").source});
  }
  t.line.is_python_script = !t.is_on("no-python");
  return {};
}

}  // namespace

Result<> translate_deepspeed(Translation& t) {
  if (const auto rank = t.find("node-rank")) {
    t.set("node-rank", *rank);
  }
  for (const auto& [name, setting] : {std::pair("node-rank", "node-rank"),
                                      std::pair("num-nodes", "nnodes"),
                                      std::pair("num-gpus", "nproc-per-node"),
                                      std::pair("num-accelerators", "nproc-per-node")}) {
    drop_unset(t, name, setting);
  }
  if (!t.settings.contains("nproc-per-node")) {
    t.set("nproc-per-node", {"auto", default_of("deepspeed")});
  }
  if (const auto folder = t.find("enable-each-rank-log"); folder && folder->value == "None") {
    t.settings.erase("log-dir");
  }
  return translate_script(t);
}

}  // namespace muster
