// Reads the options of consoles and log files.
#include "requests.hpp"

#include "compat/front_end.hpp"

namespace muster {
namespace {

/// torchrun knows its template as this variable alone.
constexpr const char* kTemplateOfTorchrun = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE";

Result<> read_when(When& target, const Settings& settings, std::string_view name) {
  const auto setting = settings.find(name);
  if (!setting || setting->value == "auto") {
    return {};
  }
  if (setting->value != "always" && setting->value != "never") {
    return wrong_value(*setting, "auto, always or never");
  }
  target = setting->value == "always" ? When::Always : When::Never;
  return {};
}

Result<> read_filter(LineFilter& target, const Settings& settings, std::string_view name) {
  const auto setting = settings.find(name);
  if (!setting) {
    return {};
  }
  auto filter = LineFilter::read(*setting);
  if (!filter) {
    return filter.error();
  }
  target = std::move(*filter);
  return {};
}

Result<> read_prefix_when(PrefixWhen& target, const Settings& settings) {
  const auto setting = settings.find("prefix");
  if (!setting) {
    return {};
  }
  for (const auto& [word, when] : {std::pair("auto", PrefixWhen::Auto),
                                   std::pair("terminal", PrefixWhen::OnTerminal),
                                   std::pair("always", PrefixWhen::Always),
                                   std::pair("never", PrefixWhen::Never)}) {
    if (setting->value == word) {
      target = when;
      return {};
    }
  }
  return wrong_value(*setting, "auto, terminal, always or never");
}

Result<> read_prefix(RunOptions& options, const Settings& settings, const Snapshot& snapshot) {
  if (auto read = read_prefix_when(options.prefix, settings); !read) {
    return read;
  }
  auto text = settings.find("prefix-template");
  auto unknown_names = UnknownNames::Refused;
  if (const auto inherited = snapshot.variable(kTemplateOfTorchrun); !text && inherited) {
    text = Sourced<std::string>{*inherited, from_variable(kTemplateOfTorchrun)};
    unknown_names = UnknownNames::Text;
  }
  if (!text) {
    return {};
  }
  auto prefix = PrefixTemplate::read(*text, unknown_names);
  if (!prefix) {
    return prefix.error();
  }
  options.prefix_template = std::move(*prefix);
  return {};
}

}  // namespace

Result<> read_log_options(RunOptions& options, const Settings& settings, const Snapshot& snapshot) {
  auto selection =
      Selection::read({.redirects = settings.find("redirects"),
                       .tee = settings.find("tee"),
                       .local_ranks = settings.find("local-ranks-filter"),
                       // In the layout of another launcher, files are those that are asked for.
                       .has_folder = settings.has("log-dir") && !settings.has(kLogLayout)});
  if (!selection) {
    return selection.error();
  }
  options.selection = std::move(*selection);
  if (const auto folder = settings.find("log-dir")) {
    options.log_dir = folder->value;
  }
  for (const auto& [name, target] :
       {std::pair("duplicate-stdout-filters", &options.duplicate_out),
        std::pair("duplicate-stderr-filters", &options.duplicate_err)}) {
    if (auto read = read_filter(*target, settings, name); !read) {
      return read;
    }
  }
  for (const auto& [name, target] :
       {std::pair("color", &options.colour), std::pair("tty", &options.terminals)}) {
    if (auto read = read_when(*target, settings, name); !read) {
      return read;
    }
  }
  return read_prefix(options, settings, snapshot);
}

}  // namespace muster
