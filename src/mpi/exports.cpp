// Which variables go with the ranks.
#include "base/text.hpp"
#include "mpi/exports.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

namespace muster::mpi {
namespace {

/// Of the node on which they are.
constexpr auto kOfOneNode = std::to_array<std::string_view>({"_",
                                                             "HOME",
                                                             "HOSTNAME",
                                                             "LD_LIBRARY_PATH",
                                                             "LOGNAME",
                                                             "MAIL",
                                                             "OLDPWD",
                                                             "PATH",
                                                             "PWD",
                                                             "SHELL",
                                                             "SHLVL",
                                                             "TEMP",
                                                             "TMP",
                                                             "TMPDIR",
                                                             "USER"});
/// Of mpirun and what it is made of, of muster, and of sessions.
constexpr auto kOfOthers = std::to_array<std::string_view>(
    {"MUSTER_", "OMPI_", "OPAL_", "ORTE_", "PMIX_", "PMI_", "PRTE_", "SSH_", "XDG_"});

/// In front of the name that a variable has in fact, with "_2e" for each '.' and so on.
constexpr std::string_view kPacked = "MUSTER_MPI_NAME_";
constexpr int kSixteen = 16;

/// A name as a shell has it; of others mpirun makes something else, too.
bool is_name(std::string_view name) {
  return !name.empty() && (name.front() < '0' || name.front() > '9') &&
         std::all_of(
             name.begin(), name.end(), [](char c) { return is_letter_or_digit(c) || c == '_'; });
}

std::string pack(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string packed(kPacked);
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_letter_or_digit(c)) {
      packed += c;
    } else {
      packed.append(1, '_').append(1, kDigits[byte >> 4U]).append(1, kDigits[byte & 0xfU]);
    }
  }
  return packed;
}

/// "2e" at the front; empty: something else is there.
std::optional<char> read_byte(std::string_view text) {
  const std::string_view digits = text.substr(0, 2);
  unsigned char byte = 0;
  const char* const end = digits.data() + digits.size();
  const bool is_whole =
      digits.size() == 2 && std::from_chars(digits.data(), end, byte, kSixteen).ptr == end;
  return is_whole ? std::optional(static_cast<char>(byte)) : std::nullopt;
}

/// Empty: it is no name of `pack`.
std::optional<std::string> unpack(std::string_view packed) {
  if (!packed.starts_with(kPacked)) {
    return std::nullopt;
  }
  packed.remove_prefix(kPacked.size());
  std::string name;
  while (!packed.empty()) {
    const bool is_code = packed.front() == '_';
    const auto byte = is_code ? read_byte(packed.substr(1)) : packed.front();
    if (!byte) {
      return std::nullopt;
    }
    name += *byte;
    packed.remove_prefix(is_code ? 3 : 1);
  }
  return name;
}

bool is_users(std::string_view name) {
  return std::find(kOfOneNode.begin(), kOfOneNode.end(), name) == kOfOneNode.end() &&
         std::none_of(kOfOthers.begin(), kOfOthers.end(), [&](std::string_view start) {
           return name.starts_with(start);
         });
}

}  // namespace

std::vector<std::string> exports_of(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> words;
  for (const auto& [name, value] : variables) {
    if (!name.empty() && is_users(name)) {
      words.insert(words.end(), {"-x", is_name(name) ? name : pack(name)});
    }
  }
  return words;
}

std::map<std::string, std::string> with_shell_names(
    const std::map<std::string, std::string>& variables) {
  std::map<std::string, std::string> packed;
  for (const auto& [name, value] : variables) {
    if (!name.empty() && !is_name(name)) {
      packed.emplace(pack(name), value);
    }
  }
  return packed;
}

void restore_names(std::map<std::string, std::string>& variables) {
  const auto first = variables.lower_bound(std::string(kPacked));
  auto last = first;
  std::map<std::string, std::string> restored;
  for (; last != variables.end() && last->first.starts_with(kPacked); ++last) {
    if (auto name = unpack(last->first)) {
      restored.emplace(std::move(*name), last->second);
    }
  }
  variables.erase(first, last);
  variables.merge(restored);  // -x NAME=VALUE has come under its own name
}

}  // namespace muster::mpi
