// Output of kubectl: nodes and pods, or anything else.
#include "base/json.hpp"
#include "fuzz.hpp"
#include "render/check_fit.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  boost::system::error_code error;
  const json::value document = json::parse(fuzz::text_of(data, size), error);
  if (error) {
    return 0;
  }
  render::ClusterState state;
  if (const auto added = render::add_objects(state, document, "file"); !added) {
    fuzz::require(added.error().exit_code() == 65, "a file is bad data");
    return 0;
  }
  render::PodNeeds needs;
  needs.device_resource = "nvidia.com/gpu";
  needs.cpus = "500m";
  int before = 0;
  for (const int devices : {8, 1, 0}) {
    needs.devices = devices;
    const render::Fit fit = render::check_fit(state, needs, 100);
    fuzz::require(fit.fitting >= before && fit.fitting <= 100, "of smaller pods no fewer fit");
    before = fit.fitting;
  }
  state.taken.clear();
  fuzz::require(render::check_fit(state, needs, 100).fitting >= before, "pods take room");
  return 0;
}
