// Splits and joins "host:port", and reads numeric addresses.
#include "base/endpoint.hpp"

#include "base/display_text.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>

namespace muster {

Endpoint split_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const bool is_bracketed = text.starts_with('[') && text.find(']') != std::string_view::npos;
  const bool has_port =
      colon != std::string_view::npos && (is_bracketed ? text[colon - 1] == ']' : text.find(':') == colon);
  Endpoint endpoint{std::string(has_port ? text.substr(0, colon) : text), std::nullopt};
  if (has_port) {
    endpoint.port = std::string(text.substr(colon + 1));
  }
  endpoint.host = std::string(without_brackets(endpoint.host));
  return endpoint;
}

std::string join_endpoint(const std::string& host, const std::string& port) {
  const bool is_version_6 = host.find(':') != std::string::npos;
  return (is_version_6 ? "[" + host + "]" : host) + ":" + port;
}

std::optional<std::string> address_bytes(std::string_view text) {
  const std::string whole(text);
  std::string bytes(sizeof(in6_addr), '\0');
  if (text.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  if (::inet_pton(AF_INET6, whole.c_str(), bytes.data()) == 1) {
    return bytes;
  }
  bytes.resize(sizeof(in_addr));
  return ::inet_pton(AF_INET, whole.c_str(), bytes.data()) == 1 ? std::optional(bytes) : std::nullopt;
}

bool is_numeric_address(std::string_view text) {
  return address_bytes(text).has_value();
}

std::string_view without_brackets(std::string_view text) {
  const bool is_bracketed = text.starts_with('[') && text.ends_with(']');
  return is_bracketed ? text.substr(1, text.size() - 2) : text;
}

bool is_version_6(std::string_view text) {
  const auto bytes = address_bytes(text.substr(0, text.find('%')));
  return bytes && bytes->size() == sizeof(in6_addr) && !text.ends_with('%');
}

bool is_host_or_address(std::string_view text) {
  const bool is_name = std::ranges::all_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return std::isalnum(byte) != 0 || byte >= 0x80 ||  // a letter of another script
           c == '_' || c == '.' || c == '-';
  });
  return !text.empty() && text.front() != '-' && (is_name || is_version_6(text)) &&
         with_visible_blanks(visible_line(text)) == text && describe_lookalike(text, /*is_typed=*/false).empty();
}

bool has_two_ports(std::string_view given) {
  const std::string_view text = given.substr(given.rfind('@') + 1);
  const std::size_t last = text.rfind(':');
  return !text.starts_with('[') && last != text.find(':') && !is_version_6(text) && !is_version_6(text.substr(0, last));
}

std::string describe_host_mistake(std::string_view text) {
  if (text.find("://") != std::string_view::npos) {
    return ", not a URL";
  }
  if (text.find(' ') != std::string_view::npos) {
    return ", without blanks";
  }
  if (with_visible_blanks(visible_line(text)) != text) {
    return ", without invisible characters";
  }
  if (std::string unfilled = describe_unfilled(text); !unfilled.empty()) {
    return unfilled;
  }
  if (text.find_first_of("\"'") != std::string_view::npos) {
    return ", without quotes";
  }
  return has_two_ports(text) ? ", and this has more than one port" : "";
}

}  // namespace muster
