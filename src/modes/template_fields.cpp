// Reads single fields: what is wrong is said with the file, the line and the path.
#include "modes/template_fields.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace muster {
namespace {

std::string suggestion(const std::optional<std::string>& nearest) {
  return nearest ? "; did you mean '" + *nearest + "'?" : std::string();
}

/// With its braces, as it would be written.
std::optional<std::string> nearest_placeholder(const std::string& typed, const Place& place) {
  const auto nearest = nearest_name(typed, placeholder_names(place.parameters, place.roles));
  return nearest ? std::optional("{" + *nearest + "}") : std::nullopt;
}

/// Every "{name}" must be a placeholder; "{{" and "}}" stand for braces.
Result<> check_placeholders(const std::string& text, const std::string& path, const Place& place) {
  for (std::size_t at = text.find_first_of("{}"); at != std::string::npos;
       at = text.find_first_of("{}", at)) {
    if (at + 1 < text.size() && text[at + 1] == text[at]) {
      at += 2;
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (text[at] == '}' || end == std::string::npos) {
      return place.error(path, "has a brace without its partner; write '{{' for a brace");
    }
    const std::string name = text.substr(at + 1, end - at - 1);
    if (!place.knows(name)) {
      return place.error(path,
                         "uses the unknown placeholder '{" + name + "}'" +
                             suggestion(nearest_placeholder(name, place)));
    }
    at = end + 1;
  }
  return {};
}

}  // namespace

std::string Place::at(const std::string& path) const {
  const auto line = document_.lines.find(path);
  const std::string where = line == document_.lines.end() ? "" : ":" + std::to_string(line->second);
  return std::string(name_) + where + ": " + (path.empty() ? "the template" : path);
}

Error Place::error(const std::string& path, const std::string& message) const {
  return Error{ErrorKind::BadData, at(path) + " " + message};
}

bool Place::knows(const std::string& placeholder) const {
  const auto has = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), placeholder) != names.end();
  };
  // Whole lists are made for few: this is asked of every text at every start.
  return has(placeholder_names()) || parameters.contains(placeholder) ||
         has(placeholder_names(parameters, roles));
}

Result<> check_fields(const json::object& object,
                      const std::vector<std::string>& known,
                      const std::string& path,
                      const Place& place) {
  for (const auto& member : object) {
    const std::string key(member.key());
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return place.error(path_of(path, key), "is unknown" + suggestion(nearest_name(key, known)));
    }
  }
  return {};
}

Result<std::string> read_text(const json::value& value,
                              const std::string& path,
                              const Place& place) {
  if (!value.is_string()) {
    return place.error(path, "must be text");
  }
  std::string text(value.get_string());
  if (text.find('\0') != std::string::npos) {
    return place.error(path, "must be text without a NUL byte");
  }
  if (auto checked = check_placeholders(text, path, place); !checked) {
    return checked.error();
  }
  return text;
}

Result<NamedTexts> read_named_texts(const json::value& value,
                                    const std::string& path,
                                    const Place& place) {
  if (!value.is_object()) {
    return place.error(path, "must be a list of NAME: value");
  }
  NamedTexts texts;
  for (const auto& member : value.get_object()) {
    const std::string name(member.key());
    auto text = read_text(member.value(), path_of(path, name), place);
    if (!text) {
      return text.error();
    }
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
      return place.error(path_of(path, name), "is no name of a variable");
    }
    texts.emplace_back(name, std::move(*text));
  }
  return texts;
}

Result<std::vector<std::string>> read_texts(const json::value& value,
                                            const std::string& path,
                                            const Place& place) {
  if (!value.is_array()) {
    return place.error(path, "must be a list");
  }
  std::vector<std::string> texts;
  for (const json::value& item : value.get_array()) {
    auto text = read_text(item, path_of(path, std::to_string(texts.size())), place);
    if (!text) {
      return text.error();
    }
    texts.push_back(std::move(*text));
  }
  return texts;
}

Result<bool> read_yes_or_no(const json::value& value, const std::string& path, const Place& place) {
  const std::string text = value.is_string() ? std::string(value.get_string()) : "";
  if (text != "true" && text != "false") {
    return place.error(path, "must be true or false");
  }
  return text == "true";
}

Result<bool> read_rank_table(const json::value& value,
                             const std::string& path,
                             const Place& place) {
  const bool is_it = value.is_string() && value.get_string() == "rank table";
  return is_it ? Result<bool>(true) : place.error(path, "must be 'rank table'");
}

Result<bool> read_log_folder(const json::value& value,
                             const std::string& path,
                             const Place& place) {
  const bool is_it = value.is_string() && value.get_string() == "log folder";
  return is_it ? Result<bool>(true) : place.error(path, "must be 'log folder'");
}

Result<> all_of(const std::vector<Result<>>& steps) {
  const auto failed =
      std::find_if(steps.begin(), steps.end(), [](const Result<>& step) { return !step; });
  return failed == steps.end() ? Result<>() : *failed;
}

}  // namespace muster
