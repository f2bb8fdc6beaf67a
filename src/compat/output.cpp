// What torchrun's options of output mean together. Facts: torch/distributed/run.py and elastic/multiprocessing of torch 2.13.
#include "compat/torchrun.hpp"

#include "compat/python_integer.hpp"

#include "base/text.hpp"

namespace muster {
namespace {

/// Its layout of log files. Without a name of a folder it is not given; without a folder there is nothing to be written, nor a
/// rank to be hidden. What muster's own option asks for is muster's. Source: DefaultLogsSpecs in
/// torch/distributed/elastic/multiprocessing/api.py.
void translate_logs(Translation& t) {
  const auto folder = t.find("log-dir");
  if (!folder) {
    t.settings.erase("log-dir");
    if (t.line.settings.has("log-dir")) {
      return;
    }
  }
  const bool has_none = folder && folder->value == "/dev/null";
  t.set(kLogLayout, {has_none ? kNoLogs : kTorchrunLogs, default_of("torchrun")});
  if (!has_none) {
    return;
  }
  t.settings.erase("log-dir");
  for (const char* const name : {"redirects",
                                 "tee",
                                 "local-ranks-filter",
                                 "duplicate-stdout-filters",
                                 "duplicate-stderr-filters"}) {
    t.ignore(name, name, folder->source.name + " is /dev/null, and all goes to the console");
    t.given.erase(name);
  }
}

/// Somebody's script may read what comes through a pipe: there lines are the workers' own, unless -t asks for more.
/// Source: torch/distributed/elastic/multiprocessing/tail_log.py.
void translate_prefix(Translation& t) {
  const auto tee = t.find("tee");
  const bool is_asked_for = tee && !tee->value.empty() && tee->value != "0";
  if (!t.line.settings.has("prefix")) {
    t.set("prefix", {is_asked_for ? "always" : "terminal", default_of("torchrun")});
  }
  if (is_asked_for && !t.line.settings.has("prefix-template") &&
      !t.settings.contains("prefix-template") &&
      !t.snapshot.has("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE")) {
    t.set("prefix-template", {"[${role_name}${local_rank}]:", default_of("torchrun")});
  }
}

/// Numbers as Python reads them, with blanks around.
void translate_filter(Translation& t) {
  const auto ranks = t.find("local-ranks-filter");
  if (!ranks) {
    return;
  }
  std::vector<std::string> pieces = split(ranks->value, ',');
  for (std::string& piece : pieces) {
    piece = find_python_integer(piece).value_or(piece);
  }
  t.set("local-ranks-filter", {join(pieces, ","), ranks->source});
}

/// Options whose empty value means that nothing is given.
void translate_texts(Translation& t) {
  for (const auto& [name, setting] :
       {std::pair("duplicate-stdout-filters", "duplicate-stdout-filters"),
        std::pair("duplicate-stderr-filters", "duplicate-stderr-filters"),
        std::pair("log-line-prefix-template", "prefix-template")}) {
    if (const auto text = t.find(name)) {
      t.set(setting, *text);
    }
  }
}

}  // namespace

void translate_output(Translation& t) {
  if (t.is_whole || t.has("log-dir")) {
    translate_logs(t);
  }
  translate_texts(t);
  translate_filter(t);
  if (t.is_whole) {
    translate_prefix(t);
  }
}

}  // namespace muster
