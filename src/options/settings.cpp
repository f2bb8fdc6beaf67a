// Reads options into Settings with Boost.Program_options. The command line is cut before the program first, because
// Boost would read options behind it.
#include "options/settings.hpp"

#include "base/display_text.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "options/syntax.hpp"

#include <boost/program_options.hpp>

#include <algorithm>

namespace muster {
namespace {

namespace po = boost::program_options;

/// True where a token may be this option: "--name", "--name=value", or, for an option with a letter, any short form.
bool may_be_given(const Option& option, const std::vector<std::string>& tokens) {
  return std::ranges::any_of(tokens, [&](const std::string_view token) {
    return token.starts_with("--") ? token.substr(2).starts_with(option.name) : option.letter != '\0';
  });
}

/// Describes only the options that the tokens may name: describing all takes longer than reading a command line.
po::options_description describe_options(const OptionTable& table, const std::vector<std::string>& tokens) {
  po::options_description given;
  for (const Option& option : table.options) {
    if (!may_be_given(option, tokens)) {
      continue;
    }
    const std::string names =
        std::string(option.name) + (option.letter != '\0' ? std::string(",") + option.letter : "");
    if (option.argument != nullptr) {
      auto* const value = po::value<std::string>();
      given.add_options()(names.c_str(), option.may_lack_value() ? value->implicit_value("1") : value);
    } else {
      given.add_options()(names.c_str(), "");
    }
  }
  return given;
}

Error syntax_error(const po::invalid_command_line_syntax& error) {
  using Syntax = po::invalid_command_line_syntax;
  const std::string name = error.get_option_name();
  switch (error.kind()) {
    case Syntax::missing_parameter:
    case Syntax::empty_adjacent_parameter:
      return Error{ErrorKind::BadUsage, name + " needs a value"};
    case Syntax::extra_parameter:
      return Error{ErrorKind::BadUsage, name + " is a switch and takes no value"};
    default:
      return Error{ErrorKind::BadUsage, name + " is not written correctly"};
  }
}

Result<> set_options(Settings& settings, const std::vector<po::option>& options, const OptionTable& table) {
  constexpr std::size_t kFirst = 10'000;  // numbers of equal length, so that their texts sort like numbers
  for (const po::option& option : options) {
    const std::string value = option.value.empty() ? "1" : option.value.front();
    const Source source = from_flag("--" + option.string_key);
    TRY(set_option(settings, option.string_key, {value, source}));
    const Option* const row = table.find(option.string_key);
    if (row != nullptr && row->may_repeat()) {
      const std::string prefix = prefix_of_repeated(row->name);
      settings.set(prefix + std::to_string(kFirst + settings.starting_with(prefix).size()), {value, source});
    }
  }
  return {};
}

}  // namespace

std::vector<Sourced<std::string>> values_of(const Option& option, const Settings& settings) {
  const auto given = settings.find(option.name);
  if (!given || !option.may_repeat()) {
    return given ? std::vector{*given} : std::vector<Sourced<std::string>>();
  }
  return mapped(settings.starting_with(prefix_of_repeated(option.name)), [](const auto& one) { return one.second; });
}

std::string prefix_of_repeated(std::string_view option) {
  return std::string(option) + ":";
}

Error unknown_own_option(const std::string& typed, const OptionTable& table) {
  const std::string plain = with_ascii_twins(with_dashes(typed));
  const std::string bare = plain.substr(std::min(plain.find_first_not_of('-'), plain.size()));
  const std::string name = bare.substr(0, bare.find('='));
  const auto remark = std::ranges::find(table.remarks, std::string_view(name), &OptionRemark::other);
  if (remark != table.remarks.end()) {
    return unknown_option(typed, std::nullopt, std::string(remark->instead));
  }
  const std::string command = table.command;
  const bool takes_program = command == "muster" || command == "muster render";
  return unknown_option(typed, table.nearest(name),
                        "'" + command + " --help' lists them" +
                            (takes_program ? ", and a program that begins with a dash goes after '--'" : ""));
}

Result<> read_flags(const std::vector<std::string>& tokens, const OptionTable& table, Settings& settings) {
  namespace style = po::command_line_style;
  constexpr int kStyle = static_cast<int>(style::unix_style) & ~static_cast<int>(style::allow_guessing);
  try {
    const po::options_description given = describe_options(table, tokens);
    const auto parsed = po::command_line_parser(tokens).options(given).style(kStyle).run();
    return set_options(settings, parsed.options, table);
  } catch (const po::unknown_option& error) {
    const std::string typed = error.get_option_name();
    return unknown_own_option(typed.starts_with('-') ? typed : "--" + typed, table);
  } catch (const po::invalid_command_line_syntax& error) {
    return syntax_error(error);
  } catch (const po::error& error) {
    return Error{ErrorKind::BadUsage, error.what()};
  }
}

bool is_on(const Settings& settings, std::string_view name) {
  const auto setting = settings.find(name);
  return setting && setting->value != "0";
}

}  // namespace muster
