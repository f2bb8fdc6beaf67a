// What the options of DeepSpeed's launcher mean together.
#include <muster/cluster/given_hosts.hpp>
#include <muster/front_end/front_end.hpp>

namespace muster {
namespace {

/// -1 is "not given" for several options.
void drop_unset(Translation& t, const char* name, const char* setting) {
  if (const auto value = t.find(name); value && value->value == "-1") {
    t.settings.erase(setting);
  }
}

/// The hostfile, where it is for us to start its hosts.
void translate_hostfile(Translation& t, const Sourced<std::string>& file) {
  if (t.is_on("no-ssh")) {
    t.ignore("hostfile", "hostfile", "with --no_ssh each node is started by itself");
  } else if (const auto starter = find_starter(t.snapshot)) {
    t.ignore("hostfile", "hostfile", starter->platform + " starts muster on each node");
  } else {
    t.set("hostfile", file);
  }
}

/// Which hosts and devices are used.
Result<> translate_choice(Translation& t) {
  const auto included = t.find("include");
  const auto excluded = t.find("exclude");
  if (t.settings.contains("hostfile")) {
    if (included) {
      t.set(kIncludedHosts, *included);
    }
    if (excluded) {
      t.set(kExcludedHosts, *excluded);
    }
    return {};
  }
  constexpr std::string_view kHere = "localhost:";
  const auto& given = excluded ? excluded : included;
  if (given && (excluded || !given->value.starts_with(kHere))) {
    return wrong_value(*given,
                       "devices of this node such as --include localhost:0,1, or a --hostfile");
  }
  if (included) {
    t.set("devices", {included->value.substr(kHere.size()), included->source});
  }
  return {};
}

Result<> translate_hosts(Translation& t) {
  if (const auto file = t.find("hostfile")) {
    translate_hostfile(t, *file);
  }
  if (const auto port = t.find("ssh-port"); port && !t.line.settings.has("remote-shell")) {
    t.set("remote-shell", {"ssh -p " + port->value, port->source});
  }
  return translate_choice(t);
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
  if (auto translated = translate_hosts(t); !translated) {
    return translated;
  }
  return translate_script(t);
}

}  // namespace muster
