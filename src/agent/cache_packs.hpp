#pragma once

// Packs on a shared file system: which of them may be read, their index and entries, and how one is written. Blocks. Private to
// src/agent.

#include "base/file_io.hpp"
#include "base/result.hpp"
#include "compile_cache/pack.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster::compile_cache {

/// An open pack that this user may read. Its index has been checked.
struct OpenPack {
  std::string name;
  UniqueFd file;
  std::uint64_t bytes = 0;
  PackIndex index;
};

/// The machine as far as entries depend on it: architecture, CPU, GPU. One line.
std::string describe_machine();

/// The reason why the store must not be read or written: it is no folder, or other users can exchange files in it.
/// Empty: it may be used, or does not exist.
std::string problem_of_store(const std::string& store);

/// Makes the store if only its last folder is missing. Fails if it takes no file.
[[nodiscard]] Result<> probe_store(const std::string& store);

/// Opens the packs of this user for this machine, newest first. Adds remarks about packs that it leaves alone.
std::vector<OpenPack> open_packs(const std::string& store, std::vector<std::string>& remarks);

/// The content of an entry. Fails if it cannot be read, or has another checksum.
[[nodiscard]] Result<std::string> read_entry(const OpenPack& pack, const PackEntry& entry);

/// A pack that is being written under a temporary name, which is removed unless `finish` has succeeded.
class PackWriter {
 public:
  /// Makes the store if only its last folder is missing.
  [[nodiscard]] static Result<PackWriter> start(const std::string& store);
  PackWriter(PackWriter&&) noexcept = default;
  PackWriter& operator=(PackWriter&&) = delete;
  PackWriter(const PackWriter&) = delete;
  PackWriter& operator=(const PackWriter&) = delete;
  ~PackWriter();

  /// `entry.size`, `sha256` and `offset` are set here.
  [[nodiscard]] Result<> add(PackEntry entry, const std::string& content);
  const PackIndex& index() const { return index_; }
  /// Puts the pack onto the disk, then under its name.
  [[nodiscard]] Result<> finish();

 private:
  PackWriter(UniqueFd folder, UniqueFd file, std::string name)
      : folder_(std::move(folder)), file_(std::move(file)), name_(std::move(name)) {}
  [[nodiscard]] Result<> write(std::string_view bytes);
  [[nodiscard]] Result<> flush();

  UniqueFd folder_;
  UniqueFd file_;
  std::string name_;  ///< the name that the pack gets at the end
  std::string buffer_;
  PackIndex index_;
  bool is_finished_ = false;
};

/// Removes these packs, which another one has replaced, and unfinished files whose writers were killed a day ago.
void remove_packs(const std::string& store, const std::vector<std::string>& names);

}  // namespace muster::compile_cache
