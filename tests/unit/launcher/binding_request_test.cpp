// The options of binding: torchrun's forms, and all that msrun takes.
#include "requests.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace muster {
namespace {

using Numbers = std::vector<int>;
using Texts = std::map<std::string, std::string>;

Result<std::optional<BindingRequest>> request_of(const Texts& flags, const std::string& mode = "torchrun") {
  Settings settings;
  for (const auto& [name, value] : flags) {
    settings.set(name, {value, from_flag("--" + name)});
  }
  const auto options = read_binding_options(settings);
  if (!options) {
    return options.error();
  }
  return *options ? std::optional(binding_request(**options, mode)) : std::nullopt;
}

BindingRequest read(const Texts& flags, const std::string& mode = "torchrun") {
  const auto request = request_of(flags, mode);
  EXPECT_TRUE(request) << request.error().message;
  return request && *request ? **request : BindingRequest{};
}

std::string error_of(const Texts& flags) {
  const auto request = request_of(flags);
  return request ? "no error" : request.error().message;
}

/// A file of its own for one test, with this content.
class File {
 public:
  explicit File(const std::string& content)
      : path_(testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + ".json") {
    std::ofstream(path_) << content;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { std::filesystem::remove(path_); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(BindingRequest, IsEmptyByDefault) {
  for (const Texts& flags : {Texts{}, Texts{{"bind-core", "False"}, {"bind-numa", "false"}}}) {
    const auto request = request_of(flags);
    ASSERT_TRUE(request);
    EXPECT_FALSE(request->has_value());
  }
}

TEST(BindingRequest, KnowsTorchrunsForms) {
  EXPECT_EQ(read({{"numa-binding", "node"}}).form, NumaForm::Node);
  EXPECT_EQ(read({{"numa-binding", "socket"}}).form, NumaForm::Socket);
  EXPECT_EQ(read({{"numa-binding", "exclusive"}}).form, NumaForm::Exclusive);
  EXPECT_EQ(read({{"numa-binding", "core-complex"}}).form, NumaForm::CoreComplex);
  EXPECT_FALSE(read({{"numa-binding", "node"}}).binds_memory);
  EXPECT_EQ(error_of({{"numa-binding", "NODE"}}),
            "--numa-binding is 'NODE', expected node, socket, exclusive or core-complex");
}

TEST(BindingRequest, OfMsrunIsSwitchedOnByTrue) {
  const BindingRequest core = read({{"bind-core", "True"}}, "msrun");
  EXPECT_EQ(core.form, NumaForm::Exclusive);
  EXPECT_FALSE(core.binds_memory);
  EXPECT_EQ(core.cpu_list_variable, "MSRUN_CPU_LIST");
  EXPECT_EQ(read({{"bind-core", "true"}}).cpu_list_variable, "");

  const BindingRequest numa = read({{"bind-numa", "TRUE"}});
  EXPECT_EQ(numa.form, NumaForm::Node);
  EXPECT_TRUE(numa.binds_memory);

  const BindingRequest both = read({{"bind-numa", "True"}, {"bind-core", "True"}});
  EXPECT_EQ(both.form, NumaForm::Exclusive);
  EXPECT_TRUE(both.binds_memory);
  EXPECT_EQ(both.source.name, "--bind-core and --bind-numa");
}

TEST(BindingRequest, ReadsCpusByDevice) {
  const BindingRequest request =
      read({{"bind-core", R"({"device0":["0-2","8"],"device_10":["4,5"],"scheduler":[6],"device3":null})"}});

  EXPECT_EQ(request.form, std::nullopt);
  EXPECT_EQ(request.devices.at(0).cpus, Numbers({0, 1, 2, 8}));
  EXPECT_EQ(request.devices.at(10).cpus, Numbers({4, 5}));
  EXPECT_EQ(request.devices.at(3).cpus, Numbers());
  EXPECT_EQ(request.roles.at("scheduler").cpus, Numbers({6}));
}

TEST(BindingRequest, ReadsNodesByDevice) {
  const BindingRequest alone = read({{"bind-numa", R"({"device0":["1"]})"}});
  EXPECT_EQ(alone.devices.at(0).cpu_nodes, Numbers({1}));
  EXPECT_EQ(alone.devices.at(0).memory_nodes, Numbers({1}));

  const BindingRequest both = read({{"bind-numa", R"({"device0":["1"]})"}, {"bind-core", R"({"device0":["4-5"]})"}});
  EXPECT_EQ(both.devices.at(0).cpus, Numbers({4, 5}));
  EXPECT_EQ(both.devices.at(0).cpu_nodes, Numbers());
  EXPECT_EQ(both.devices.at(0).memory_nodes, Numbers({1}));
}

TEST(BindingRequest, ReadsTheConfigurationOfAFile) {
  const File file(R"({"bind_config": {"bind_cpu_mode": "CPU", "bind_memory_mode": "numa"},
    "bind_cpu": {"device_0": {"main": "0-3", "runtime": "4"}, "device1": {"runtime": "5"}},
    "bind_memory": {"device0": "0-1", "scheduler": 1}})");

  const BindingRequest request = read({{"bind-numa", file.path()}}, "msrun");

  EXPECT_EQ(request.devices.at(0).cpus, Numbers({0, 1, 2, 3}));
  EXPECT_EQ(request.devices.at(0).memory_nodes, Numbers({0, 1}));
  EXPECT_EQ(request.devices.at(1).cpus, Numbers());
  EXPECT_EQ(request.roles.at("scheduler").memory_nodes, Numbers({1}));
  EXPECT_EQ(request.variables, Texts({{"MSRUN_BIND_FILE", file.path()}}));
}

TEST(BindingRequest, ReadsNodesOfAConfiguration) {
  const BindingRequest request = read(
      {{"bind-numa",
        R"({"bind_config": {"bind_cpu_mode": "numa"}, "bind_cpu": {"device0": 1}, "bind_memory": {"device0": 0}})"}});

  EXPECT_EQ(request.devices.at(0).cpu_nodes, Numbers({1}));
  EXPECT_EQ(request.devices.at(0).memory_nodes, Numbers());
}

TEST(BindingRequest, OpensNoPipe) {
  const std::string path = testing::TempDir() + "muster_pipe.json";
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);

  EXPECT_EQ(error_of({{"bind-numa", path}}), "--bind-numa is '" + path + "', expected a JSON file that can be read");
  std::filesystem::remove(path);
}

TEST(BindingRequest, RefusesWhatItCannotRead) {
  const std::string expected = R"(', expected True, False, a JSON object such as {"device0":["0-9"]}, or a file .json)";
  EXPECT_EQ(error_of({{"bind-core", "yes"}}), "--bind-core is 'yes" + expected);
  EXPECT_EQ(error_of({{"bind-core", "{}"}}), "--bind-core is '{}" + expected);
  EXPECT_EQ(error_of({{"bind-core", R"({"device0":["3-1"]})"}}),
            R"(--bind-core device0 is '["3-1"]', expected a list such as ["0-9", "12,13"])");
  EXPECT_EQ(error_of({{"bind-core", R"({"npu0":["1"]})"}}),
            "--bind-core key is 'npu0', expected device<number> or scheduler");
  EXPECT_EQ(error_of({{"bind-numa", "/nosuch.json"}}),
            "--bind-numa is '/nosuch.json', expected a JSON file that can be read");
  const File pipe("");
  std::filesystem::remove(pipe.path());
  ASSERT_EQ(mkfifo(pipe.path().c_str(), 0600), 0);
  EXPECT_EQ(error_of({{"bind-core", pipe.path()}}),
            "--bind-core is '" + pipe.path() + "', expected a JSON file that can be read");
  EXPECT_EQ(error_of({{"bind-numa", R"({"bind_config":{"bind_cpu_mode":"all"}})"}}),
            "--bind-numa bind_cpu_mode is 'all', expected cpu, numa or none");
  EXPECT_EQ(error_of({{"bind-numa", R"({"bind_config":{"bind_memory_mode":"cpu"}})"}}),
            "--bind-numa bind_memory_mode is 'cpu', expected numa or none");
}

TEST(BindingRequest, RefusesTwoThatContradict) {
  EXPECT_EQ(error_of({{"numa-binding", "node"}, {"bind-core", "True"}}),
            "--bind-core is 'True', expected False together with --numa-binding, which binds the workers "
            "already");
  EXPECT_EQ(error_of({{"bind-core", "True"}, {"bind-numa", R"({"bind_config":{}})"}}),
            "--bind-core is 'True', expected False together with the configuration of --bind-numa");
  EXPECT_EQ(error_of({{"bind-core", R"({"bind_config":{}})"}}),
            "--bind-core is '{\"bind_config\":{}}', expected an object by device; one with bind_config "
            "is for --bind-numa");
  EXPECT_EQ(error_of({{"bind-core", R"({"device0":["0"]})"}, {"bind-numa", R"({"device1":["0"]})"}}),
            "--bind-numa is '{\"device1\":[\"0\"]}', expected the devices that --bind-core names");
}

}  // namespace
}  // namespace muster
