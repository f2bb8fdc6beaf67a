#pragma once

// A tree of files that looks like /proc, /sys and /dev of a host, in a temporary folder.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace muster {

class FakeHost {
 public:
  FakeHost() {
    std::string folder = std::filesystem::temp_directory_path() / "muster_host_XXXXXX";
    root_ = ::mkdtemp(folder.data());
  }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;
  ~FakeHost() { std::filesystem::remove_all(root_); }

  const std::string& root() const { return root_; }

  void write(const std::string& path, const std::string& content) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content << "\n";
  }

  void allow(const std::string& cpus, const std::string& memory_nodes) const {
    write("/proc/self/status", "Name:\tmuster\nCpus_allowed_list:\t" + cpus + "\nMems_allowed_list:\t" + memory_nodes);
  }

  void add_node(int node, const std::string& cpus) const {
    write("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist", cpus);
  }

  void add_cpu(int cpu, int package, const std::string& threads, const std::string& cache) const {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
    write(folder + "/topology/physical_package_id", std::to_string(package));
    write(folder + "/topology/thread_siblings_list", threads);
    write(folder + "/cache/index0/level", "1");
    write(folder + "/cache/index0/type", "Data");
    write(folder + "/cache/index0/shared_cpu_list", threads);
    write(folder + "/cache/index1/level", "1");
    write(folder + "/cache/index1/type", "Instruction");
    write(folder + "/cache/index1/shared_cpu_list", std::to_string(cpu));
    write(folder + "/cache/index3/level", "3");
    write(folder + "/cache/index3/type", "Unified");
    write(folder + "/cache/index3/shared_cpu_list", cache);
  }

  void add_pci(const std::string& address, const std::string& vendor, const std::string& class_code,
               int numa_node) const {
    const std::string folder = "/sys/bus/pci/devices/" + address;
    write(folder + "/vendor", vendor);
    write(folder + "/class", class_code);
    write(folder + "/numa_node", std::to_string(numa_node));
  }

  /// A GPU as NVIDIA's driver shows it; `minor` is the number of its device file.
  void add_nvidia(const std::string& address, int minor, int numa_node) const {
    add_pci(address, "0x10de", "0x030200", numa_node);
    write("/proc/driver/nvidia/gpus/" + address + "/information", "Model: \t\t NVIDIA H100\nGPU UUID:   \t GPU-" +
                                                                      std::to_string(minor) + "aaa\nDevice Minor: \t " +
                                                                      std::to_string(minor));
  }

 private:
  std::string root_;
};

}  // namespace muster
