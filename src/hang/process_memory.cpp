// Finds CPython's description of itself: the section .PyRuntime of the executable or of libpython.
#include "hang/process_memory.hpp"

#include "base/file_io.hpp"

#include <elf.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

namespace muster::hang {
namespace {

constexpr const char* kRuntimeSection = ".PyRuntime";

class ProcessMemory final : public Memory {
 public:
  explicit ProcessMemory(pid_t process) : process_(process) {}

  bool read(std::uint64_t address, void* to, std::size_t size) const override {
    const iovec local{to, size};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the address is one of the other process
    const iovec remote{reinterpret_cast<void*>(address), size};
    return ::process_vm_readv(process_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
  }

 private:
  pid_t process_;
};

class FileMemory final : public Memory {
 public:
  explicit FileMemory(const std::string& path) : file_(open_untrusted_file(path)) {}

  bool read(std::uint64_t address, void* to, std::size_t size) const override {
    return file_ && address <= INT64_MAX &&
           ::pread(file_.get(), to, size, static_cast<off_t>(address)) == static_cast<ssize_t>(size);
  }

 private:
  UniqueFd file_;
};

std::string mappings_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/maps");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Takes the word before the next `separator`, and leaves what follows it.
std::string_view take_word(std::string_view& line, char separator) {
  const std::size_t end = std::min(line.find(separator), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

std::optional<std::uint64_t> read_hex(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return error == std::errc{} && end == digits.data() + digits.size() ? std::optional(value) : std::nullopt;
}

/// "python3", "python3.13", "python" and "libpython3.13.so.1.0", but no extension module.
bool is_python_file(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libpython3") || name == "python" || name.starts_with("python3");
}

std::optional<Mapping> parse_mapping(std::string_view line) {
  const auto start = read_hex(take_word(line, '-'));
  const auto end = read_hex(take_word(line, ' '));
  const std::string_view access = take_word(line, ' ');
  const auto offset = read_hex(take_word(line, ' '));
  const std::size_t path = line.find('/');
  if (!start || !end || !offset || *start >= *end || path == std::string_view::npos) {
    return {};
  }
  return Mapping{*start, *end, *offset, access.size() > 1 && access[1] == 'w', std::string(line.substr(path))};
}

/// The address of the section at `offset` of the file; empty: it is not mapped writable, as it has to be.
std::optional<std::uint64_t> address_of(const std::vector<Mapping>& mappings, const std::string& path,
                                        std::uint64_t offset) {
  for (const Mapping& mapping : mappings) {
    const bool covers = mapping.offset <= offset && offset - mapping.offset < mapping.end - mapping.start;
    if (mapping.is_writable && mapping.path == path && covers) {
      return mapping.start + (offset - mapping.offset);
    }
  }
  return {};
}

}  // namespace

std::vector<Mapping> find_python_mappings(std::string_view maps) {
  std::vector<Mapping> found;
  while (!maps.empty()) {
    auto mapping = parse_mapping(take_word(maps, '\n'));
    if (mapping && is_python_file(mapping->path)) {
      found.push_back(std::move(*mapping));
    }
  }
  return found;
}

std::optional<std::uint64_t> find_section(const Memory& file, std::string_view name) {
  constexpr std::size_t kMostNameBytes = 32;
  Elf64_Ehdr head{};
  if (!file.read(0, &head, sizeof head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
      head.e_shentsize != sizeof(Elf64_Shdr)) {
    return {};
  }
  const auto read_section = [&](std::size_t index) {
    Elf64_Shdr section{};
    const bool is_read = file.read(head.e_shoff + index * sizeof section, &section, sizeof section);
    return is_read ? std::optional(section) : std::nullopt;
  };
  const auto names = read_section(head.e_shstrndx);
  for (std::size_t i = 0; names && i < head.e_shnum; ++i) {
    const auto section = read_section(i);
    std::array<char, kMostNameBytes> found{};
    if (section && name.size() < found.size() &&
        file.read(names->sh_offset + section->sh_name, found.data(), name.size() + 1) &&
        std::string_view(found.data()) == name) {
      return section->sh_offset;
    }
  }
  return {};
}

namespace {

/// The address of `_PyRuntime`. Opens the file as the process sees it: its root may be another one.
std::optional<std::uint64_t> find_runtime(pid_t process, const std::vector<Mapping>& mappings) {
  std::string before;
  for (const Mapping& mapping : mappings) {
    if (mapping.path == std::exchange(before, mapping.path)) {
      continue;
    }
    const FileMemory file("/proc/" + std::to_string(process) + "/root" + mapping.path);
    const auto section = find_section(file, kRuntimeSection);
    if (const auto address = section ? address_of(mappings, mapping.path, *section) : std::nullopt) {
      return address;
    }
  }
  return {};
}

}  // namespace

Result<PythonProcess> PythonProcess::find(pid_t process) {
  const std::vector<Mapping> mappings = find_python_mappings(mappings_of(process));
  if (mappings.empty()) {
    return Error{ErrorKind::NotFound, std::string(kNotPython)};
  }
  const auto runtime = find_runtime(process, mappings);
  if (!runtime) {
    return Error{ErrorKind::BadData, "the interpreter does not describe itself, as Python 3.13 and later do"};
  }
  return PythonProcess(process, *runtime);
}

std::vector<std::uint64_t> PythonProcess::threads() const {
  return read_python_threads(ProcessMemory(process_), runtime_);
}

Result<Stack> PythonProcess::read_stack(std::uint64_t thread) const {
  const ProcessMemory memory(process_);
  std::byte probe{};
  if (!memory.read(runtime_, &probe, sizeof probe)) {
    return system_error("cannot read its memory", errno);
  }
  return read_python_stack(memory, runtime_, thread);
}

Result<Stack> read_stack(pid_t process) {
  return TRY(PythonProcess::find(process)).read_stack(static_cast<std::uint64_t>(process));
}

}  // namespace muster::hang
