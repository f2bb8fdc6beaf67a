// Any arguments, one on a line each, in a manifest: a reader of YAML gets them back.
#include "render/manifest.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "fuzz.hpp"

namespace {

/// "$$" is "$" to Kubernetes, and here every one was doubled.
std::string undoubled(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    result += text[at];
    at += text[at] == '$' ? 1 : 0;
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  render::ManifestRequest request;
  request.kind = "jobset";
  request.name = "train";
  request.image = "train:1.0";
  request.nodes = 2;
  request.arguments = split(fuzz::text_of(data, size), '\n');
  const auto manifest = render::render_manifest(request);
  if (!manifest) {
    fuzz::require(manifest.error().exit_code() == 64, "an argument is the command line's fault");
    return 0;
  }
  const auto document = parse_yaml(*manifest, "manifest");
  fuzz::require(document.has_value(), "a manifest is YAML");
  const json::value& job = document->root.at_pointer("/spec/replicatedJobs/0/template");
  const json::value& pod = job.at_pointer("/spec/template/spec");
  const json::array& words = pod.at_pointer("/containers/0/args").as_array();
  fuzz::require(words.size() == request.arguments.size() + 2, "each argument is one");
  for (std::size_t i = 0; i < request.arguments.size(); ++i) {
    fuzz::require(undoubled(std::string(words[i + 2].as_string())) == request.arguments[i],
                  "an argument arrives as it is");
  }
  return 0;
}
