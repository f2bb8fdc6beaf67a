#include "hang/python_stack.hpp"

#include "hang/process_memory.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

namespace muster::hang {
namespace {

/// Memory that was recorded: whatever was read of a process, by address.
class RecordedMemory final : public Memory {
 public:
  std::uint64_t runtime = 0;
  std::uint64_t thread = 0;
  std::map<std::uint64_t, std::string> blocks;

  static RecordedMemory* load(RecordedMemory& memory, const std::string& name) {
    std::ifstream file(std::string(MUSTER_HANG_DATA) + "/" + name);
    std::string line;
    std::getline(file, line);  // a comment
    file >> std::hex >> memory.runtime >> memory.thread;
    std::uint64_t address = 0;
    for (std::string digits; file >> address >> digits;) {
      for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
        memory.blocks[address] += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
      }
    }
    return &memory;
  }

  bool read(std::uint64_t address, void* to, std::size_t size) const override {
    const auto after = blocks.upper_bound(address);
    if (after == blocks.begin()) {
      return false;
    }
    const auto& [start, bytes] = *std::prev(after);
    if (address - start > bytes.size() || bytes.size() - (address - start) < size) {
      return false;
    }
    std::memcpy(to, bytes.data() + (address - start), size);
    return true;
  }
};

std::string words_of(const Result<Stack>& stack) {
  std::ostringstream words;
  for (const Frame& frame : stack ? *stack : Stack{}) {
    words << frame.file << ":" << frame.line << " in " << frame.function << "\n";
  }
  return stack ? words.str() : stack.error().message;
}

TEST(PythonStack, IsReadFromARecordedPython313) {
  RecordedMemory memory;
  RecordedMemory::load(memory, "python-3.13.0.txt");

  EXPECT_EQ(words_of(read_python_stack(memory, memory.runtime, memory.thread)),
            "/tmp/job/train.py:10 in Loader.load_shard\n"
            "/tmp/job/train.py:8 in Loader.load_shard\n"
            "/tmp/job/train.py:16 in größe.<locals>.<lambda>\n"
            "/tmp/job/train.py:16 in größe\n"
            "/tmp/job/train.py:19 in <module>\n");
}

TEST(PythonStack, IsThatOfTheFirstThreadIfNoneHasTheId) {
  RecordedMemory memory;
  RecordedMemory::load(memory, "python-3.13.0.txt");

  EXPECT_EQ(read_python_stack(memory, memory.runtime, 1)->size(), 5U);
}

TEST(PythonStack, IsRefusedForMemoryThatIsNoPythonThatDescribesItself) {
  RecordedMemory memory;
  EXPECT_EQ(words_of(read_python_stack(memory, 0x1000, 1)),
            "the interpreter does not describe itself, as Python 3.13 and later do");

  RecordedMemory::load(memory, "python-3.13.0.txt");
  std::string& table = memory.blocks[memory.runtime + 8];
  table[2] = 99;  // the minor version
  EXPECT_EQ(words_of(read_python_stack(memory, memory.runtime, 1)),
            "Python 3.99 describes itself in a way that is not known here");
  table[2] = 13;
  table[8 * 22 + 4] = 1;  // the offset of the current frame
  EXPECT_EQ(words_of(read_python_stack(memory, memory.runtime, 1)),
            "the interpreter's description of itself makes no sense");
}

TEST(PythonStack, IsCutShortWhereMemoryCannotBeRead) {
  RecordedMemory memory;
  RecordedMemory::load(memory, "python-3.13.0.txt");
  while (memory.blocks.size() > 2) {
    const auto last = std::prev(memory.blocks.end());
    memory.blocks.erase(last->first == memory.runtime + 8 || last->first == memory.runtime ? memory.blocks.begin()
                                                                                           : last);
    (void)read_python_stack(memory, memory.runtime, memory.thread);  // must come back
  }
}

TEST(Locations, AreReadAsCPythonWritesThem) {
  // co_linetable of "def f():\n  x = 1\n  return [\n    x,\n    y]" in CPython 3.13, at line 1.
  const std::string table(
      "\x80\x00\xd8\x06\x07\x80\x21\xe0\x04\x05\xdc\x04\x05\xf0\x05\x02\x0a\x07\xf0\x00\x02\x03\x07", 23);
  EXPECT_EQ(line_at(table, 1, 0), 1);
  EXPECT_EQ(line_at(table, 1, 2), 2);
  EXPECT_EQ(line_at(table, 1, 6), 4);
  EXPECT_EQ(line_at(table, 1, 16), 5);
  EXPECT_EQ(line_at(table, 1, 20), 3);
  EXPECT_EQ(line_at(table, 1, 1'000), 0) << "behind the last instruction";
  EXPECT_EQ(line_at("", 1, 0), 0);
  EXPECT_EQ(line_at("\xF8", 7, 0), 0) << "an instruction without a line";
  EXPECT_EQ(line_at("\xE8\x05", 7, 0), 5) << "a line before the first one";
}

TEST(PythonMappings, AreThoseOfTheInterpreterAndItsLibrary) {
  const auto found = find_python_mappings(
      "55d0-55d1 r--p 00000000 fe:00 1  /usr/bin/python3.13\n"
      "7f00-7f10 rw-p 004ea000 fe:00 2  /opt/python/lib/libpython3.13.so.1.0\n"
      "7f20-7f30 r-xp 00000000 fe:00 3  /usr/lib/python3.13/lib-dynload/_json.so\n"
      "7f40-7f50 rw-p 00000000 00:00 0  [heap]\n"
      "nonsense\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1], (Mapping{0x7f00, 0x7f10, 0x4ea000, true, "/opt/python/lib/libpython3.13.so.1.0"}));
}

}  // namespace
}  // namespace muster::hang
