// The ssh service before its keys are made: what the programs that it starts must not have.
#include "../fake_host.hpp"
#include "services/services.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>

#include <cstdlib>
#include <filesystem>
#include <set>

namespace muster {
namespace {

namespace fs = std::filesystem;

class NoCompanion final : public Sidecar {
 public:
  void send(std::string /*bytes*/) override {}
  void read_now() override {}
};

/// Descriptors that a program would have that is executed now.
std::set<int> passed_on() {
  constexpr int kMost = 1'024;
  std::set<int> found;
  for (int fd = 0; fd < kMost; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) {
      found.insert(fd);
    }
  }
  return found;
}

struct SshHost final : public FakeHost {
  Result<std::unique_ptr<Sidecar>> start_sidecar(const SidecarRequest& /*request*/, SidecarEvents /*events*/) override {
    then = passed_on();
    return std::unique_ptr<Sidecar>(std::make_unique<NoCompanion>());
  }

  std::set<int> then;
};

/// An sshd outlives its job where somebody's session does, and would keep the port from the next one.
TEST(SshService, PassesItsClaimOfThePortToNoProgram) {
  std::string folder = testing::TempDir() + "ssh_service_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::set<int> before = passed_on();
  SshHost host;
  ServiceInput input;
  input.run_folder = folder;
  input.is_protected = true;
  input.host = &host;
  LaunchPlan plan;
  plan.placement.nodes = 2;
  plan.placement.node_rank = NodeRank{1};
  plan.parameters = {{"ssh_key", {}}, {"sshd_port", {"29622", {}}}, {"sshd", {"sshd", {}}}};

  const auto service = make_ssh_service(input);
  ASSERT_TRUE(service->start(plan));

  EXPECT_EQ(host.then, before);
  service->stop();
  fs::remove_all(folder);
}

}  // namespace
}  // namespace muster
