// Reads the rights of processes from /proc, and takes those of another process by raw system calls: the functions of
// glibc change all threads that it knows of, and a helper process has only one of them.
#include "process/rights.hpp"

#include "base/text.hpp"
#include "environment/mounted_files.hpp"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

namespace muster {
namespace {

constexpr int kMostCapabilities = 64;

constexpr std::uint64_t bit(int capability) {
  return std::uint64_t{1} << static_cast<unsigned>(capability);
}

/// Empty: one of them is no number.
std::optional<std::vector<unsigned>> numbers_in(const std::string& text) {
  std::istringstream words(text);
  std::vector<unsigned> numbers;
  for (unsigned number = 0; words >> number;) {
    numbers.push_back(number);
  }
  return words.eof() ? std::optional(numbers) : std::nullopt;
}

template <std::size_t Count>
bool read_numbers(const std::string& text, std::array<unsigned, Count>& numbers) {
  const auto found = numbers_in(text);
  if (!found || found->size() != Count) {
    return false;
  }
  std::ranges::copy(*found, numbers.begin());
  return true;
}

bool are_all_equal(const auto& numbers) {
  return std::ranges::all_of(numbers, [&](auto number) { return number == numbers.front(); });
}

/// True if the other has each right of ours.
bool has_ours(const Rights& own, const Rights& others) {
  return others.users == own.users && others.groups == own.groups &&
         std::ranges::includes(others.more_groups, own.more_groups) && (own.capabilities & ~others.capabilities) == 0 &&
         (own.gains_none || !others.gains_none);
}

bool set_capabilities(std::uint64_t capabilities) {
  constexpr unsigned kBits = 32;
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2]{};
  for (unsigned i = 0; i < 2; ++i) {
    const auto part = static_cast<std::uint32_t>(capabilities >> (i * kBits));
    sets[i] = {part, part, part};
  }
  return ::syscall(SYS_capset, &head, sets) == 0;
}

/// True if programs cannot get other capabilities than these.
bool limit_capabilities(std::uint64_t capabilities) {
  for (int i = 0; i < kMostCapabilities; ++i) {
    const bool is_left = (capabilities & bit(i)) == 0 && ::prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1;
    if (is_left && ::prctl(PR_CAPBSET_DROP, i, 0, 0, 0) != 0) {
      return false;
    }
  }
  return true;
}

bool set_groups(const std::vector<gid_t>& groups) {
  return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

/// Sets the number by setfsuid(2) or setfsgid(2), and reads it back: they report a failure in no other way.
bool set_number_for_files(long call, unsigned number) {
  (void)::syscall(call, number);
  return static_cast<unsigned>(::syscall(call, ~0U)) == number;
}

}  // namespace

Result<Rights> parse_rights(const std::map<std::string, std::string>& status) {
  constexpr int kHexadecimal = 16;
  Rights rights;
  const std::string digits = value_at(status, "CapPrm");
  const char* const end = digits.data() + digits.size();
  const auto more_groups = numbers_in(value_at(status, "Groups"));
  if (!read_numbers(value_at(status, "Uid"), rights.users) || !read_numbers(value_at(status, "Gid"), rights.groups) ||
      !more_groups || digits.empty() ||
      std::from_chars(digits.data(), end, rights.capabilities, kHexadecimal).ptr != end) {
    return Error{ErrorKind::BadData, "its rights cannot be read"};
  }
  rights.more_groups = *more_groups;
  std::ranges::sort(rights.more_groups);
  rights.gains_none = value_at(status, "NoNewPrivs") == "1";
  rights.filters = value_at(status, "Seccomp") + " " + value_at(status, "Seccomp_filters");
  return rights;
}

Result<Rights> rights_of(pid_t process) {
  return parse_rights(read_fields("/proc/" + std::to_string(process) + "/status"));
}

Result<std::optional<Rights>> rights_for_program(const Rights& own, const Rights& others) {
  constexpr std::uint64_t kNeeded = bit(CAP_SETUID) | bit(CAP_SETGID) | bit(CAP_SETPCAP);
  if (others.filters != own.filters) {
    return Error{ErrorKind::System, "its system calls are filtered"};
  }
  if (!are_all_equal(others.users) || !are_all_equal(others.groups)) {
    return Error{ErrorKind::System, "it has the rights of several users"};  // as programs with a set-user-ID bit
  }
  if (has_ours(own, others)) {
    return std::nullopt;
  }
  if ((own.capabilities & kNeeded) != kNeeded) {
    return Error{ErrorKind::System, "its rights differ from muster's"};
  }
  Rights taken = others;
  taken.capabilities &= own.capabilities;
  return taken;
}

bool take_rights(const Rights& rights) {
  const uid_t user = rights.users[Rights::Effective];
  const gid_t group = rights.groups[Rights::Effective];
  bool are_taken = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && limit_capabilities(rights.capabilities) &&
                   ::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 && set_groups(rights.more_groups) &&
                   ::syscall(SYS_setresgid, group, group, group) == 0 &&
                   ::syscall(SYS_setresuid, user, user, user) == 0 && set_capabilities(rights.capabilities);
  for (int i = 0; i < kMostCapabilities && are_taken; ++i) {  // else execve leaves them to root alone
    are_taken = (rights.capabilities & bit(i)) == 0 || ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0) == 0;
  }
  return are_taken;
}

ScopedFileRights::ScopedFileRights(const Rights& own, const Rights& others)
    : own_(own),
      differ_(own.users[Rights::ForFiles] != others.users[Rights::ForFiles] ||
              own.groups[Rights::ForFiles] != others.groups[Rights::ForFiles] || own.more_groups != others.more_groups),
      are_taken_(!differ_ || (set_groups(others.more_groups) &&
                              set_number_for_files(SYS_setfsgid, others.groups[Rights::ForFiles]) &&
                              set_number_for_files(SYS_setfsuid, others.users[Rights::ForFiles]))) {}

ScopedFileRights::~ScopedFileRights() {
  if (differ_) {
    (void)set_number_for_files(SYS_setfsuid, own_.users[Rights::ForFiles]);
    (void)set_number_for_files(SYS_setfsgid, own_.groups[Rights::ForFiles]);
    (void)set_groups(own_.more_groups);
  }
}

namespace {

/// "user:[4026531837]"; empty: not readable, or a kernel without namespaces of this kind.
std::string namespace_of(const std::string& process, const char* kind) {
  std::error_code failed;
  return std::filesystem::read_symlink("/proc/" + process + "/ns/" + kind, failed).string();
}

}  // namespace

bool is_in_our_user_namespace(pid_t process) {
  return namespace_of(std::to_string(process), "user") == namespace_of("self", "user");
}

std::string container_of(pid_t process) {
  const std::string number = std::to_string(process);
  struct stat root {};
  if (::stat(("/proc/" + number + "/root/").c_str(), &root) != 0) {
    return {};
  }
  std::string container = std::to_string(root.st_dev) + ":" + std::to_string(root.st_ino);
  for (const char* const kind : {"mnt", "net", "ipc", "uts", "pid"}) {
    container += " " + namespace_of(number, kind);
  }
  return container;
}

}  // namespace muster
