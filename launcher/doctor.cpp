// Answers `muster doctor`: the table of guarantees, for people or as JSON. What it says is decided in run/guarantees.cpp.
#include "doctor.hpp"

#include "explain.hpp"

#include "base/json.hpp"
#include "base/text.hpp"
#include "options/syntax.hpp"
#include "options/typed_settings.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace muster {
namespace {

constexpr auto kTable = std::to_array<Option>({
    {"json", '\0', nullptr, "Doctor", "Print JSON."},
    {"help", 'h', nullptr, "Doctor", "Print this text."},
});

const char* name_of(Support hold) {
  switch (hold) {
    case Support::Whole:
      return "yes";
    case Support::InPart:
      return "in part";
    case Support::Not:
      return "no";
  }
  return "";
}

std::string kernel_release() {
  utsname names{};
  return ::uname(&names) == 0 ? names.release : "unknown";
}

/// What explains refusals, in one line.
std::string describe_surroundings(const SystemCapabilities& answers) {
  return "Linux " + kernel_release() + ", user " + std::to_string(::geteuid()) + ", system calls " +
         (answers.is_filtered ? "filtered (seccomp)" : "not filtered") +
         (answers.gains_nothing ? ", programs gain no rights (no_new_privs)" : "") + ", up to " +
         std::to_string(answers.descriptors) + " file descriptors\n";
}

std::string row(std::string name, std::string hold, const std::string& by) {
  constexpr std::size_t kNameWidth = 49;
  constexpr std::size_t kHoldWidth = 9;
  name.resize(kNameWidth, ' ');
  hold.resize(kHoldWidth, ' ');
  return name + hold + by + "\n";
}

std::string text_of(const SystemCapabilities& answers, const std::vector<Guarantee>& all) {
  std::string text = describe_surroundings(answers) + "\n" + row("GUARANTEE", "HOLDS", "BY");
  for (const Guarantee& guarantee : all) {
    text += row(guarantee.name, name_of(guarantee.hold), guarantee.by);
    if (guarantee.hold != Support::Whole) {
      text += "  because  " + guarantee.because + "\n  means    " + guarantee.means +
              "\n  remedy   " + guarantee.remedy + "\n";
    }
  }
  return text;
}

json::value document_of(const SystemCapabilities& answers, const std::vector<Guarantee>& all) {
  json::array array;
  for (const Guarantee& guarantee : all) {
    json::object one = {
        {"name", guarantee.name}, {"by", guarantee.by}, {"holds", name_of(guarantee.hold)}};
    if (guarantee.hold != Support::Whole) {
      one["because"] = guarantee.because;
      one["means"] = guarantee.means;
      one["remedy"] = guarantee.remedy;
    }
    array.push_back(std::move(one));
  }
  return json::object{{"kernel", kernel_release()},
                      {"user", ::geteuid()},
                      {"is_filtered", answers.is_filtered},
                      {"no_new_privs", answers.gains_nothing},
                      {"descriptors", answers.descriptors},
                      {"guarantees", std::move(array)}};
}

}  // namespace

OptionTable doctor_options() {
  return {kTable, {}, {}};
}

Result<> read_doctor_line(CommandLine& line, std::span<const std::string> tokens) {
  std::vector<std::string> flags;
  for (const std::string& token : tokens) {
    if (!token.starts_with('-')) {
      return Error{ErrorKind::BadUsage,
                   "'" + token + "' is nothing that muster doctor takes; it has options only"};
    }
    flags.push_back(with_dashes(token));
  }
  return read_flags(flags, doctor_options(), line.settings);
}

Result<int> run_doctor(const CommandLine& line) {
  const SystemCapabilities answers = probe_system();
  const std::vector<Guarantee> all = guarantees(answers);
  auto printed = print(is_on(line.settings, "json") ? pretty_json(document_of(answers, all))
                                                    : text_of(answers, all));
  if (!printed) {
    return printed;
  }
  const bool is_lost = std::any_of(all.begin(), all.end(), [](const Guarantee& guarantee) {
    return guarantee.hold == Support::Not;
  });
  return is_lost ? static_cast<int>(ErrorKind::System) : 0;
}

}  // namespace muster
