// The keys of torchrun's --rdzv-conf. Each backend of torchrun reads some of them and is silent about
// the others: c10d ignores the `timeout` that many pass. Here each means what its name says.
#include "base/text.hpp"
#include "compat/front_end.hpp"

#include <algorithm>

namespace muster {
namespace {

const CompatOption* find_key(std::string_view name) {
  const auto keys = rendezvous_keys();
  const auto at = std::find_if(
      keys.begin(), keys.end(), [&](const CompatOption& key) { return name == key.name; });
  return at == keys.end() ? nullptr : &*at;
}

std::string unknown_key(const std::string& source, const std::string& name) {
  std::vector<std::string> names;
  for (const CompatOption& key : rendezvous_keys()) {
    names.emplace_back(key.name);
  }
  const auto nearest = nearest_name(name, names);
  return "ignoring " + name + " in " + source + ": torchrun knows no such key" +
         (nearest ? "; did you mean " + *nearest + "?" : "");
}

/// The name of the variable stays as it is; a flag says which key it is about.
Source source_of(const Source& source, const std::string& key) {
  return source.kind == SourceKind::Flag ? part_of(source, " " + key) : source;
}

/// Without the quotes of a shell line that quotes once too often: "--rdzv-conf='timeout=5'" stands in PyTorch's own tests.
std::string_view without_quotes(std::string_view text) {
  text = trim(text);
  const bool is_quoted = text.size() > 1 && text.front() == text.back() &&
                         (text.front() == '\'' || text.front() == '"');
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

using Values = std::map<std::string, Sourced<std::string>>;

Result<Values> read_values(Translation& t, const Sourced<std::string>& text) {
  Values values;
  const std::string_view pairs = without_quotes(text.value);
  if (pairs.empty()) {
    return values;
  }
  for (const std::string& piece : split(pairs, ',')) {
    const std::size_t equals = piece.find('=');
    const std::string name(trim(std::string_view(piece).substr(0, equals)));
    const std::string value(
        equals == std::string::npos ? "" : trim(std::string_view(piece).substr(equals + 1)));
    if (name.empty() || value.empty()) {
      return wrong_value(text, "KEY=VALUE,KEY=VALUE such as timeout=1800");
    }
    const CompatOption* const key = find_key(name);
    if (key == nullptr) {
      t.line.notices.push_back(unknown_key(text.source.name, name));
    } else if (key->fate == OptionSupport::Ignored) {
      t.line.notices.push_back("ignoring " + name + " in " + text.source.name + ": " + key->note);
    } else {
      values[name] = {value, source_of(text.source, name)};
    }
  }
  return values;
}

/// All nodes may say it, as with torchrun, whose clients go to the endpoint all the same.
/// Source: get_as_bool of torch/distributed/elastic/rendezvous/api.py.
Result<> translate_is_host(Translation& t, const Sourced<std::string>& value) {
  const auto is_host = parse_boolean(value.value);
  if (!is_host) {
    return wrong_value(value, "1, true, 0 or false");
  }
  t.set("lead", {*is_host ? "reached" : "never", value.source});
  return {};
}

/// Interval times attempts, within what --heartbeat-timeout takes.
Result<> translate_keep_alive(Translation& t, const Values& values) {
  constexpr int kMostSeconds = 3600;
  long long product = 1;
  std::optional<Source> source;
  for (const auto& [name, otherwise] :
       {std::pair("keep_alive_interval", 5), std::pair("keep_alive_max_attempt", 3)}) {
    const auto value = values.find(name);
    const auto number = value == values.end() ? std::optional(otherwise)
                                              : parse_integer(value->second.value, 1, kMostSeconds);
    if (!number) {
      return wrong_value(value->second, "a number from 1 to " + std::to_string(kMostSeconds));
    }
    product *= *number;
    source = value == values.end() ? source : std::optional(value->second.source);
  }
  if (source) {
    const long long most = kMostSeconds;
    t.set("heartbeat-timeout", {std::to_string(std::min(product, most)), *source});
  }
  return {};
}

}  // namespace

Result<> translate_rendezvous_conf(Translation& t, const Sourced<std::string>& text) {
  const auto values = read_values(t, text);
  if (!values) {
    return values.error();
  }
  const auto backend = t.find("rdzv-backend");
  const bool is_dynamic = backend && backend->value == "c10d";
  for (const char* const name : {is_dynamic ? "timeout" : "join_timeout",
                                 is_dynamic ? "join_timeout" : "timeout",
                                 "last_call_timeout"}) {  // the stronger one comes last
    if (const auto value = values->find(name); value != values->end()) {
      t.set(find_key(name)->setting, value->second);
    }
  }
  if (const auto is_host = values->find("is_host"); is_host != values->end() && is_dynamic) {
    if (auto translated = translate_is_host(t, is_host->second); !translated) {
      return translated;
    }
  }
  return translate_keep_alive(t, *values);
}

}  // namespace muster
