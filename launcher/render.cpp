// Answers `muster render`.
#include "render.hpp"

#include "explain.hpp"

namespace muster {

Result<int> run_render(const CommandLine& line) {
  if (line.settings.has("check-fit")) {
    return check_fit(line.settings);
  }
  const auto request = read_manifest_request(line);
  if (!request) {
    return request.error();
  }
  return print(render::render_manifest(*request));
}

}  // namespace muster
