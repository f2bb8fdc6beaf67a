#pragma once

// Hosts of services for tests: a test overrides what its service uses.

#include "services/service.hpp"

namespace muster {

class FakeHost : public ServiceHost {
 public:
  Result<std::unique_ptr<Sidecar>> start_sidecar(const SidecarRequest& /*request*/, SidecarEvents /*events*/) override {
    return Error{ErrorKind::System, "this host starts no sidecar"};
  }
  Result<std::unique_ptr<NamedPipe>> open_pipe(const std::string& /*path*/, PipeOwner& /*owner*/) override {
    return Error{ErrorKind::System, "this host opens no pipe"};
  }
  Result<> contribute(gang::Contributed /*value*/) override { return {}; }
  void write_as_worker(std::size_t /*worker*/, std::string_view /*lines*/) override {}
  void run_later(std::function<void()> /*work*/) override {}
  void write_files(std::string /*what*/, HelperTask::Work /*work*/, HelperTask::Then /*then*/) override {}
  void remove_files(HelperTask::Work work) override { (void)work(); }
  std::vector<gang::NodePlace> nodes() const override { return {}; }
  std::optional<int> rank_of(std::uint32_t /*pid*/) const override { return std::nullopt; }
  std::optional<int> signal_process(int /*pid*/, int /*signal*/) override { return std::nullopt; }
  void note_init(std::chrono::nanoseconds /*time*/) override {}
};

/// Pids of this machine: 100 is rank 0, 101 rank 1, up to 199.
struct RankedHost final : public FakeHost {
  std::optional<int> rank_of(std::uint32_t pid) const override {
    return pid >= 100 && pid < 200 ? std::optional(static_cast<int>(pid) - 100) : std::nullopt;
  }
};

/// Keeps what a service reports.
struct FakeOwner final : public ServiceOwner {
  void on_service_failure(const Service& /*service*/, const Error& error) override {
    failures.push_back(error.message);
  }
  void on_service_ready(const PlanAdditions& additions) override {
    ++ready;
    added = additions.environment;
    added_of = additions.environment_of;
  }

  std::vector<std::string> failures;
  int ready = 0;
  std::map<std::string, std::string> added;
  std::map<std::size_t, std::map<std::string, std::string>> added_of;
};

}  // namespace muster
