// What the options of DeepSpeed's launcher mean together.
#include "compat/host_placing.hpp"
#include "compat/deepspeed.hpp"

namespace muster {
namespace {

/// -1 is "not given" for several options, and so is an empty address.
void drop_unset(Translation& t, const char* setting) {
  const auto value = t.settings.find(setting);
  if (value != t.settings.end() && (value->second.value == "-1" || value->second.value.empty())) {
    t.settings.erase(value);
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
  for (const char* const setting : {"node-rank", "nnodes", "nproc-per-node", "master-addr"}) {
    drop_unset(t, setting);
  }
  set_ssh(t, t.find("ssh-port"));
  if (auto translated = deepspeed::translate_hosts(t); !translated) {
    return translated;
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
