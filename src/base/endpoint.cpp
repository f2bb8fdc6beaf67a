// Where a host ends and its port begins.
#include <muster/base/endpoint.hpp>

namespace muster {

Endpoint split_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const bool is_bracketed = text.starts_with('[') && text.find(']') != std::string_view::npos;
  const bool has_port = colon != std::string_view::npos &&
                        (is_bracketed ? text[colon - 1] == ']' : text.find(':') == colon);
  Endpoint endpoint{std::string(has_port ? text.substr(0, colon) : text), std::nullopt};
  if (has_port) {
    endpoint.port = std::string(text.substr(colon + 1));
  }
  if (is_bracketed && endpoint.host.ends_with(']')) {
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  }
  return endpoint;
}

}  // namespace muster
