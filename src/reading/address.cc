// Strict readers for the few forms of address that a configuration holds.
#include "reading/address.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/ascii.h"
#include "reading/fault.h"

namespace semel::reading {
namespace {

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, core::is_digit);
}

bool is_ipv4(std::string_view text) {
  for (int group = 0; group < 4; ++group) {
    const std::size_t end = group < 3 ? text.find('.') : text.size();
    if (end == std::string_view::npos) return false;
    const std::string_view digits = text.substr(0, end);
    if (!all_digits(digits) || digits.size() > 3 || (digits.size() > 1 && digits.front() == '0')) return false;
    if (digits.size() == 3 && digits > "255") return false;
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return true;
}

// Counts the groups of one side of `::`; -1 if one of them is not a group.
int ipv6_groups(std::string_view side, bool last_may_be_ipv4) {
  int groups = 0;
  while (!side.empty()) {
    const std::size_t end = std::min(side.find(':'), side.size());
    const std::string_view group = side.substr(0, end);
    const bool last = end == side.size();
    if (last && last_may_be_ipv4 && is_ipv4(group)) return groups + 2;
    if (group.empty() || group.size() > 4 || !std::ranges::all_of(group, core::is_hex_digit)) return -1;
    ++groups;
    if (last) return groups;
    side.remove_prefix(end + 1);
    if (side.empty()) return -1;  // a colon at the end
  }
  return groups;
}

bool is_ipv6(std::string_view text) {
  const std::size_t gap = text.find("::");
  if (gap == std::string_view::npos) return ipv6_groups(text, true) == 8;
  const int before = ipv6_groups(text.substr(0, gap), false);
  const int after = ipv6_groups(text.substr(gap + 2), true);
  return before >= 0 && after >= 0 && before + after < 8;
}

bool is_host_name(std::string_view text) {
  // A host that ends in a number is an address, or was meant to be one.
  const std::size_t dot = text.rfind('.');
  if (all_digits(text.substr(dot == std::string_view::npos ? 0 : dot + 1))) return is_ipv4(text);
  if (text.empty() || text.size() > 253) return false;
  return std::ranges::all_of(
      text, [](char c) { return core::is_letter(c) || core::is_digit(c) || c == '-' || c == '.' || c == '_'; });
}

Parsed<std::uint16_t> parse_port(std::string_view text, std::size_t offset) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (all_digits(text) && error == std::errc{}) return port;
  return fault(fmt::format("\"{}\" is not a port; write a number from 0 to 65535", text), {}, offset);
}

struct HostAndPort {
  std::string_view host;  // without brackets
  std::string_view port;  // empty if there is none
  std::size_t port_offset = 0;
};

Parsed<HostAndPort> split_authority(std::string_view text) {
  HostAndPort split{};
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return fault("the `[` of an IPv6 address is never closed");
    split.host = text.substr(1, close - 1);
    if (!is_ipv6(split.host)) return fault(fmt::format("\"{}\" is not an IPv6 address", split.host), {}, 1);
    if (close + 1 == text.size()) return split;
    if (text[close + 1] != ':') return fault("expected a colon and a port after the `]`", {}, close + 1);
    split.port_offset = close + 2;
  } else {
    const std::size_t colon = text.find(':');
    const std::size_t last_colon = text.rfind(':');
    if (colon != last_colon) {
      std::string suggestion;
      if (is_ipv6(text.substr(0, last_colon)) && all_digits(text.substr(last_colon + 1))) {
        suggestion = fmt::format("[{}]:{}", text.substr(0, last_colon), text.substr(last_colon + 1));
      }
      return fault("an IPv6 address is written in brackets", std::move(suggestion));
    }
    split.host = text.substr(0, colon);
    if (!is_host_name(split.host)) return fault(fmt::format("\"{}\" is neither a name nor an address", split.host));
    if (colon == std::string_view::npos) return split;
    split.port_offset = colon + 1;
  }
  split.port = text.substr(split.port_offset);
  if (split.port.empty()) return fault("there is no port after the colon", {}, split.port_offset);
  return split;
}

}  // namespace

Parsed<Endpoint> parse_endpoint(std::string_view text) {
  if (text.starts_with(':') && all_digits(text.substr(1))) {
    return fault("the address to listen on is missing", fmt::format("127.0.0.1{}", text));
  }
  if (all_digits(text)) return fault("the address to listen on is missing", fmt::format("127.0.0.1:{}", text));
  const auto split = split_authority(text);
  if (!split) return std::unexpected(split.error());
  if (split->port.empty()) {
    return fault(fmt::format("\"{}\" has no port", text), fmt::format("{}:8080", text));
  }
  const auto port = parse_port(split->port, split->port_offset);
  if (!port) return std::unexpected(port.error());
  return Endpoint{.host = std::string(split->host), .port = *port};
}

std::string endpoint_text(const Endpoint& endpoint) {
  const bool brackets = endpoint.host.find(':') != std::string::npos;
  return brackets ? fmt::format("[{}]:{}", endpoint.host, endpoint.port)
                  : fmt::format("{}:{}", endpoint.host, endpoint.port);
}

bool is_loopback(const Endpoint& endpoint) {
  if (is_ipv4(endpoint.host)) return endpoint.host.starts_with("127.");
  return endpoint.host == "::1" || core::equal_ignoring_case(endpoint.host, "localhost");
}

bool is_address(std::string_view text) {
  const bool brackets = text.size() > 2 && text.starts_with('[') && text.ends_with(']');
  return brackets ? is_ipv6(text.substr(1, text.size() - 2)) : is_ipv4(text);
}

bool is_host(std::string_view text) {
  return is_address(text) || is_host_name(text);
}

Parsed<Url> parse_url(std::string_view text) {
  Url url{};
  const std::size_t colon = text.find("://");
  const std::string_view scheme = text.substr(0, colon == std::string_view::npos ? 0 : colon);
  if (scheme != "http" && scheme != "https") {
    if (colon == std::string_view::npos && split_authority(text)) {
      return fault("a URL begins with http:// or https://", fmt::format("http://{}", text));
    }
    return fault("a URL begins with http:// or https://");
  }
  url.secure = scheme == "https";
  const std::size_t begin = colon + 3;
  const std::size_t odd = text.find_first_of("?#@\\ \t\r\n");
  if (odd != std::string_view::npos) {
    return fault("a URL here has no user, query, fragment, white space or backslash", {}, odd);
  }
  if (std::ranges::any_of(text, core::is_control)) return fault("a URL holds no control characters");
  const std::size_t slash = std::min(text.find('/', begin), text.size());
  const auto split = split_authority(text.substr(begin, slash - begin));
  if (!split) return fault(split.error().message, {}, begin + split.error().offset);
  url.authority.host = std::string(split->host);
  url.authority.port = url.secure ? 443 : 80;
  if (!split->port.empty()) {
    const auto port = parse_port(split->port, begin + split->port_offset);
    if (!port) return std::unexpected(port.error());
    if (*port == 0) return fault("port 0 cannot be called", {}, begin + split->port_offset);
    url.authority.port = *port;
  }
  url.path = std::string(text.substr(slash));
  return url;
}

std::string host_field(const Url& url) {
  std::string text = endpoint_text(url.authority);
  if (url.authority.port == (url.secure ? 443 : 80)) text.resize(text.rfind(':'));
  return text;
}

std::string url_text(const Url& url) {
  return fmt::format("{}://{}{}", url.secure ? "https" : "http", host_field(url), url.path);
}

}  // namespace semel::reading
