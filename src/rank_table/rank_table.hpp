#pragma once

// Rank tables: which process of a job drives which Ascend device, for HCCL. One type for all forms that
// are written; docs/rank-tables.md tells what they are and where they come from.
// Sources: CANN, "Rank table configuration"; hccl-controller and ascend-operator of MindCluster;
// hccl_tools.py of MindSpore.

#include "base/json.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster::rank_table {

/// The forms, by what tells them apart.
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

/// What belongs to one pod: an instance of `group_list`, a server of `server_list`, all ranks of one
/// host in `rank_list`, which names none: there a host is a row of ranks with different devices.
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

/// A table that is complete, whatever its form was.
struct Table {
  Form form = Form::Version1;
  std::vector<Instance> instances;  ///< in the order of the table; of groups by the number that a
                                    ///< pod's name ends with
  std::vector<SuperPod> super_pods;
  int size = 0;  ///< devices of all instances
};

/// What a file that should be a rank table is.
struct Unfinished {
  std::string reason;  ///< "initializing: 3 of 4 instances are there, job-worker-2 has no devices"
};

/// One rule that a table breaks.
struct Breach {
  std::string path;      ///< "server_list[3].device[0].device_ip"
  std::string value;     ///< as it is written, with its quotes; empty: it is missing
  std::string expected;  ///< reads behind "expected": "an address that no other device has"
  std::string code;      ///< of CANN, such as "EI0004"; empty: it has none for this
};

// Where the values of a document live, which are many: those of 131,072 devices take 200 MB.

/// Large pages where the system has them: to have every 4 KiB handed over takes as long as to fill them.
class LargePages : public json::memory_resource {
 protected:
  void* do_allocate(std::size_t size, std::size_t alignment) override;
  void do_deallocate(void* place, std::size_t size, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const json::memory_resource& other) const noexcept override { return this == &other; }
};

/// Of one document, and given back as a whole.
struct Memory {
  static constexpr std::size_t kFirstBlock = 64 << 10;  // bytes; each further one is twice as large

  LargePages pages;
  json::monotonic_resource values = json::monotonic_resource(kFirstBlock, &pages);
};

// A document as text: a device on a line, so that people and `diff` can read a large one.

/// On one line. Numbers with a fraction or an exponent are written as people do, 0.1 and 1.0, by the fifteen
/// digits that survive any parser.
[[nodiscard]] std::string compact(const json::value& value);

/// The same document gives the same bytes, about `size` of them. It is used up, since it may be large.
[[nodiscard]] std::string print(json::object&& root, std::size_t size = 0);

}  // namespace muster::rank_table
