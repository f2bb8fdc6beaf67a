#pragma once

// Rank tables, which assign Ascend devices to a job's processes for HCCL. One type for all forms; docs/rank-tables.md
// describes the forms and their origins. Sources: CANN, "Rank table configuration"; hccl-controller and
// ascend-operator of MindCluster; hccl_tools.py of MindSpore.

#include "base/json.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster::rank_table {

/// The forms, with the members that identify them.
enum class Form {
  Groups,     ///< "0.1", also "template 2": `group_list` of `instance_list`, without ranks
  Standard,   ///< no `version`: `group_list` of `instance_list` with `rank_id`
  Version1,   ///< "1.0", also "template 1": `server_list`
  SuperPods,  ///< "1.2": `server_list` and `super_pod_list`
  Version2,   ///< "2.0": `rank_list`, numbers as numbers
};

/// "v0.1 (group_list)", for people.
[[nodiscard]] std::string_view name_of(Form form);

struct Device {
  int rank = 0;                 ///< of the process, 0 to n-1; in `Form::Groups` by their order
  int id = 0;                   ///< N of /dev/davinciN
  std::string addresses;        ///< `device_ip`, several with commas between them; empty: none. In 2.0
                                ///< the first of each layer
  std::string super_device_id;  ///< empty: none
};

/// One pod's part of a table: an instance of `group_list`, a server of `server_list`, all ranks of one host in
/// `rank_list`. The latter has no hosts: there a host is a run of ranks with different devices.
struct Instance {
  std::string pod_name;                ///< empty: the form has none
  std::string server_id;               ///< of the host; several instances may share it in forms with `group_list`
  std::vector<std::string> addresses;  ///< others of its host or pod: host_ip, container_ip, pod_ip
  std::vector<Device> devices;         ///< as they are listed
};

struct SuperPod {
  std::string id;
  std::vector<std::string> server_ids;
};

/// A complete table, of any form.
struct Table {
  Form form = Form::Version1;
  std::vector<Instance> instances;  ///< in the order of the table; of groups by the number that a
                                    ///< pod's name ends with
  std::vector<SuperPod> super_pods;
  int size = 0;  ///< devices of all instances
};

/// A rank table that is not complete yet.
struct Unfinished {
  std::string reason;  ///< "initializing: 3 of 4 instances are there, job-worker-2 has no devices"
};

/// A broken rule: the member, its value and what is expected.
struct Breach {
  std::string path;      ///< "server_list[3].device[0].device_ip"
  std::string value;     ///< as written, with quotes; empty: missing
  std::string expected;  ///< completes "expected": "an address that no other device has"
  std::string code;      ///< CANN's code, such as "EI0004"; empty: none
};

// Memory for a document's values: those of 131,072 devices take 200 MB.

/// Allocates huge pages where the system has them: page faults for each 4 KiB take as long as filling the memory.
class LargePages : public json::memory_resource {
 protected:
  void* do_allocate(std::size_t size, std::size_t alignment) override;
  void do_deallocate(void* place, std::size_t size, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const json::memory_resource& other) const noexcept override { return this == &other; }
};

/// Memory of one document, freed as a whole.
struct Memory {
  static constexpr std::size_t kFirstBlock = 64 << 10;  // bytes; each further one is twice as large

  LargePages pages;
  json::monotonic_resource values = json::monotonic_resource(kFirstBlock, &pages);
};

// Writes a document as text: a device on a line, so that people and `diff` can read a large one.

/// Writes a value on one line. Numbers with a fraction or an exponent are short, 0.1 and 1.0, with the fifteen digits
/// that survive any parser.
[[nodiscard]] std::string compact(const json::value& value);

/// Writes a document, always with the same bytes, about `size` of them. Consumes the document, since it may be large.
[[nodiscard]] std::string print(json::object&& root, std::size_t size = 0);

}  // namespace muster::rank_table
