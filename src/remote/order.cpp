// An order as frames, and back. No text is quoted: each has a frame of its own.
#include "base/text.hpp"
#include "remote/order.hpp"
#include "compat/front_end.hpp"

#include <array>

namespace muster {
namespace {

constexpr char kBetween = '\0';  // no option has it: they come from a command line

/// A setting with its source, so that an agent names what the user has written.
std::string write_setting(const std::string& name, const Sourced<std::string>& setting) {
  const char kind = static_cast<char>('0' + static_cast<int>(setting.source.kind));
  return name + kBetween + kind + setting.source.name + kBetween + setting.value;
}

bool read_setting(CommandLine& line, const std::string& bytes) {
  const std::size_t first = bytes.find(kBetween);
  const std::size_t second = first == std::string::npos ? first : bytes.find(kBetween, first + 1);
  if (second == std::string::npos || second < first + 2) {
    return false;
  }
  const int kind = bytes[first + 1] - '0';
  if (kind < 0 || kind > static_cast<int>(SourceKind::Assumed)) {
    return false;
  }
  line.settings.set(bytes.substr(0, first),
                    {bytes.substr(second + 1),
                     {static_cast<SourceKind>(kind), bytes.substr(first + 2, second - first - 2)}});
  return true;
}

bool read_variable(std::map<std::string, std::string>& variables, const std::string& bytes) {
  const std::size_t equals = bytes.find('=');
  if (equals == std::string::npos || equals == 0) {
    return false;
  }
  variables.insert_or_assign(bytes.substr(0, equals), bytes.substr(equals + 1));
  return true;
}

bool read_width(std::optional<std::size_t>& terminal, const std::string& bytes) {
  constexpr int kWidest = 65'535;
  const auto columns = parse_integer(bytes, 0, kWidest);
  if (columns) {
    terminal = static_cast<std::size_t>(*columns);
  }
  return columns.has_value();
}

/// A kind of frame, and what becomes of its bytes; false: they are not what they should be.
struct Field {
  const char* kind;
  bool (*take)(AgentOrder& order, const std::string& bytes);
};

constexpr auto kFields = std::to_array<Field>({
    {"muster",
     [](AgentOrder& order, const std::string& bytes) {
       order.version = bytes;
       return true;
     }},
    {"host",
     [](AgentOrder& order, const std::string& bytes) {
       order.host = bytes;
       return true;
     }},
    {"first",
     [](AgentOrder& order, const std::string& /*bytes*/) {
       order.is_first = true;
       return true;
     }},
    {"nonce",
     [](AgentOrder& order, const std::string& bytes) {
       order.nonce = bytes;
       return !bytes.empty();
     }},
    {"folder",
     [](AgentOrder& order, const std::string& bytes) {
       order.working_directory = bytes;
       return !bytes.empty();
     }},
    {"out-columns",
     [](AgentOrder& order, const std::string& bytes) {
       return read_width(order.terminals.out, bytes);
     }},
    {"error-columns",
     [](AgentOrder& order, const std::string& bytes) {
       return read_width(order.terminals.error, bytes);
     }},
    {"variable",
     [](AgentOrder& order, const std::string& bytes) {
       return read_variable(order.variables, bytes);
     }},
    {"setting",
     [](AgentOrder& order, const std::string& bytes) { return read_setting(order.line, bytes); }},
    {"program",
     [](AgentOrder& order, const std::string& bytes) {
       order.line.program.push_back(bytes);
       return true;
     }},
    {"argument",
     [](AgentOrder& order, const std::string& bytes) {
       order.line.worker_arguments.push_back(bytes);
       return true;
     }},
    {"python",
     [](AgentOrder& order, const std::string& /*bytes*/) {
       order.line.is_python_script = true;
       return true;
     }},
    {"command",
     [](AgentOrder& order, const std::string& bytes) {
       order.line.compat = find_front_end(bytes);
       return order.line.compat != nullptr;
     }},
});

constexpr const char* kStart = "start";

}  // namespace

std::string write_order(const AgentOrder& order) {
  std::string text;
  const auto add = [&](const char* kind, const std::string& bytes) {
    text += write_frame({kind, bytes});
  };
  add("muster", order.version);
  add("host", order.host);
  add("nonce", order.nonce);
  add("folder", order.working_directory);
  for (const auto& [name, value] : order.variables) {
    add("variable", std::string(name).append("=").append(value));
  }
  if (order.is_first) {
    add("first", "");
  }
  if (order.terminals.out) {
    add("out-columns", std::to_string(*order.terminals.out));
  }
  if (order.terminals.error) {
    add("error-columns", std::to_string(*order.terminals.error));
  }
  const CommandLine& line = order.line;
  line.settings.for_each([&](const std::string& name, const Sourced<std::string>& setting) {
    add("setting", write_setting(name, setting));
  });
  for (const std::string& word : line.program) {
    add("program", word);
  }
  for (const std::string& argument : line.worker_arguments) {
    add("argument", argument);
  }
  if (line.is_python_script) {
    add("python", "");
  }
  if (line.compat != nullptr) {
    add("command", line.compat->name);
  }
  add(kStart, "");
  return text;
}

Result<bool> OrderReader::take(const Frame& frame) {
  if (frame.kind == kStart) {
    return true;
  }
  for (const Field& field : kFields) {
    if (frame.kind == field.kind && field.take(order_, frame.bytes)) {
      return false;
    }
  }
  return Error{ErrorKind::BadData,
               "the front of the job, muster " + order_.version + ", sends '" +
                   one_line(frame.kind, 40) + "', which this muster cannot read"};
}

}  // namespace muster
