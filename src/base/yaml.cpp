// Wraps yaml-cpp: its exceptions do not leave this file.
#include "base/yaml.hpp"

#include "base/display_text.hpp"

#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cstdint>
#include <sstream>

namespace muster {
namespace {

constexpr int kDeepest = 32;

/// The value of a scalar without quotes.
json::value typed(const std::string& text) {
  if (text == "true" || text == "false") {
    return text == "true";
  }
  const bool is_octal = text.size() > 1 && text.front() == '0';
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, is_octal ? 8 : 10);
  return error == std::errc() && end == text.data() + text.size() ? json::value(number) : json::value(text);
}

struct Reader {
  std::map<std::string, int>& lines;
  Scalars scalars;

  // Depth is limited because the text comes from outside.
  // NOLINTNEXTLINE(misc-no-recursion)
  json::value read(const YAML::Node& node, const std::string& path, int depth) {
    if (depth > kDeepest) {
      throw YAML::Exception(node.Mark(), "nested too deeply");
    }
    lines.try_emplace(path, node.Mark().line + 1);
    switch (node.Type()) {
      case YAML::NodeType::Map:
        return read_map(node, path, depth);
      case YAML::NodeType::Sequence:
        return read_sequence(node, path, depth);
      case YAML::NodeType::Scalar:
        // "?" is the tag of a scalar without quotes and without a tag.
        return scalars == Scalars::Typed && node.Tag() == "?" ? typed(node.Scalar()) : json::value(node.Scalar());
      default:
        return nullptr;
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  json::value read_map(const YAML::Node& node, const std::string& path, int depth) {
    json::object object;
    for (const auto& member : node) {
      if (!member.first.IsScalar()) {
        throw YAML::Exception(member.first.Mark(), "a key must be plain text");
      }
      const std::string& key = member.first.Scalar();
      if (object.contains(key)) {
        throw YAML::Exception(member.first.Mark(), "the key '" + key + "' occurs twice");
      }
      const std::string member_path = path_of(path, key);
      lines[member_path] = member.first.Mark().line + 1;  // the field's line in messages is that of its key
      object[key] = read(member.second, member_path, depth + 1);
    }
    return object;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  json::value read_sequence(const YAML::Node& node, const std::string& path, int depth) {
    json::array array;
    for (std::size_t i = 0; i < node.size(); ++i) {
      array.push_back(read(node[i], path_of(path, std::to_string(i)), depth + 1));
    }
    return array;
  }
};

/// Finds what is refused: "&name" or "*name" where YAML would read an anchor or an alias, and a second document,
/// which would be dropped silently.
class Inspector : public YAML::EventHandler {
 public:
  bool has_anchors = false;
  int documents = 0;
  void OnDocumentStart(const YAML::Mark& /*mark*/) override { ++documents; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t anchor) override { note(anchor); }
  void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override { has_anchors = true; }
  void OnScalar(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t anchor,
                const std::string& /*value*/) override {
    note(anchor);
  }
  void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    note(anchor);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    note(anchor);
  }
  void OnMapEnd() override {}

 private:
  void note(YAML::anchor_t anchor) { has_anchors = has_anchors || anchor != 0; }
};

// NOLINTNEXTLINE(misc-no-recursion)
void emit(YAML::Emitter& out, const json::value& value) {
  switch (value.kind()) {
    case json::kind::object:
      out << YAML::BeginMap;
      for (const auto& member : value.get_object()) {
        out << YAML::Key << std::string(member.key()) << YAML::Value;
        emit(out, member.value());
      }
      out << YAML::EndMap;
      break;
    case json::kind::array:
      out << YAML::BeginSeq;
      for (const json::value& item : value.get_array()) {
        emit(out, item);
      }
      out << YAML::EndSeq;
      break;
    case json::kind::string: {
      // Quoted, so that text such as "8" or "no" is read back as text.
      out << YAML::DoubleQuoted << std::string(value.get_string());
      break;
    }
    case json::kind::null:
      out << YAML::Null;  // the text "null" would be put in quotes
      break;
    default:
      out << json::serialize(value);  // numbers, true and false are the same in YAML
  }
}

}  // namespace

std::string path_of(const std::string& parent, const std::string& member) {
  return parent + "/" + member;
}

Result<YamlDocument> parse_yaml(std::string_view text, std::string_view name, Scalars scalars) {
  try {
    const std::string copy(text);
    std::istringstream events(copy);
    Inspector inspector;
    YAML::Parser parser(events);
    // The second document is refused anyway, and yaml-cpp finds documents without end in some broken texts.
    while (inspector.documents < 2 && parser.HandleNextDocument(inspector)) {
    }
    if (inspector.has_anchors) {
      return Error{ErrorKind::BadData, std::string(name) + ": anchors and aliases are not allowed"};
    }
    if (inspector.documents > 1) {
      return Error{ErrorKind::BadData, std::string(name) + ": more than one document"};
    }
    YamlDocument document;
    document.root = Reader{document.lines, scalars}.read(YAML::Load(copy), "", 0);
    return document;
  } catch (const YAML::Exception& error) {
    return Error{ErrorKind::BadData, std::string(name) + ":" + std::to_string(error.mark.line + 1) + ": " + error.msg};
  }
}

std::string to_yaml(const json::value& document) {
  YAML::Emitter out;
  out.SetNullFormat(YAML::LowerNull);
  emit(out, document);
  return escape_controls(out.c_str()) + "\n";
}

}  // namespace muster
