// Parses mounts, finds the one that has a path, and knows the types of network file systems.
#include "environment/mounts.hpp"

#include "base/file_io.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <vector>

namespace muster {
namespace {

constexpr auto kNetworkTypes = std::to_array<std::string_view>(
    {"nfs",       "nfs4",           "cifs",        "smb3",         "ceph",           "lustre",         "gpfs",
     "beegfs",    "beegfs_nodev",   "afs",         "9p",           "wekafs",         "pvfs2",          "orangefs",
     "glusterfs", "fuse.glusterfs", "fuse.sshfs",  "fuse.juicefs", "fuse.ceph",      "fuse.ceph-fuse", "fuse.gcsfuse",
     "fuse.s3fs", "fuse.mount-s3",  "fuse.lustre", "fuse.cvmfs",   "fuse.blobfuse2", "fuse.ossfs"});

/// Undoes "\040" for a space.
std::string unescape_mount(std::string_view text) {
  constexpr std::size_t kEscaped = 4;
  constexpr int kOctal = 8;
  std::string plain;
  while (!text.empty()) {
    const std::size_t size = text.front() == '\\' ? std::min(kEscaped, text.size()) : 1;
    unsigned code = static_cast<unsigned char>(text.front());
    (void)std::from_chars(text.data() + 1, text.data() + size, code, kOctal);
    plain += static_cast<char>(code);
    text.remove_prefix(size);
  }
  return plain;
}

bool is_below(std::string_view path, std::string_view point) {
  return point == "/" || path == point ||
         (path.starts_with(point) && path.size() > point.size() && path[point.size()] == '/');
}

/// The mount that has the path; empty: none has it.
std::optional<Mount> find_mount(std::string_view mounts, std::string_view path) {
  std::optional<Mount> nearest;
  std::size_t longest = 0;
  for (const std::string& line : split(mounts, '\n')) {
    const std::optional<Mount> mount = parse_mount(line);
    const std::string point = mount ? unescape_mount(mount->point) : "";
    if (mount && is_below(path, point) && point.size() >= longest) {  // of two at one point the later one is seen
      longest = point.size();
      nearest = mount;
    }
  }
  return nearest;
}

/// The folders whose files an overlay shows below its own: in "lowerdir=/a:/b", or in "lowerdir+=/a" for each.
std::vector<std::string> lower_layers(const Mount& overlay) {
  std::vector<std::string> layers;
  for (const std::string& option : split(overlay.options, ',')) {
    const std::size_t equals = option.find('=');
    if (equals != std::string::npos && option.starts_with("lowerdir")) {
      std::ranges::transform(split(option.substr(equals + 1), ':'), std::back_inserter(layers), unescape_mount);
    }
  }
  return layers;
}

}  // namespace

std::optional<Mount> parse_mount(const std::string& line) {
  constexpr std::string_view kDash = " - ";
  constexpr std::size_t kBefore = 5;
  constexpr std::size_t kBehind = 3;
  const std::size_t dash = line.find(kDash);
  if (dash == std::string::npos) {
    return std::nullopt;
  }
  const std::vector<std::string> before = split(line.substr(0, dash), ' ');
  const std::vector<std::string> behind = split(line.substr(dash + kDash.size()), ' ');
  if (before.size() < kBefore || behind.size() < kBehind) {
    return std::nullopt;
  }
  return Mount{before[3], before[4], behind[0], behind[2]};
}

std::string network_type_in(std::string_view mounts, std::string_view path) {
  const std::optional<Mount> mount = find_mount(mounts, path);
  return mount && contains(kNetworkTypes, mount->type) ? mount->type : "";
}

bool is_read_from_network(std::string_view mounts, std::string_view path) {
  const std::optional<Mount> mount = find_mount(mounts, path);
  const auto is_on_network = [mounts](const std::string& layer) { return !network_type_in(mounts, layer).empty(); };
  return mount && (contains(kNetworkTypes, mount->type) ||
                   (mount->type == "overlay" && std::ranges::any_of(lower_layers(*mount), is_on_network)));
}

std::string read_mounts() {
  constexpr std::size_t kMostBytes = std::size_t{4} << 20U;
  return read_untrusted_file("/proc/self/mountinfo", kMostBytes);
}

std::string network_type_of(std::string_view path) {
  return network_type_in(read_mounts(), path);
}

}  // namespace muster
