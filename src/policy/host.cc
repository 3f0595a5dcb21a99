#include "policy/host.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/ascii.h"
#include "reading/address.h"
#include "reading/fault.h"

namespace semel::policy {
namespace {

struct Parts {
  std::string_view host;
  std::string_view port;  // empty if there is none
};

// Null if it is not a host, with or without a port.
std::optional<Parts> split(std::string_view authority) {
  const std::size_t end = authority.starts_with('[') ? authority.find(']') + 1 : authority.find(':');
  const std::string_view host = authority.substr(0, end);
  std::string_view rest = authority.substr(host.size());
  if (host.empty() || (!rest.empty() && rest.front() != ':')) return std::nullopt;
  rest.remove_prefix(rest.empty() ? 0 : 1);
  if (!std::ranges::all_of(rest, core::is_digit)) return std::nullopt;
  return Parts{.host = host, .port = rest};
}

bool ends_in(std::string_view name, std::string_view end) {
  return name.size() > end.size() && core::equal_ignoring_case(name.substr(name.size() - end.size()), end);
}

}  // namespace

bool HostPattern::matches(std::string_view authority) const {
  const std::optional<Parts> parts = split(authority);
  if (!parts || (!port.empty() && parts->port != port)) return false;
  return below ? ends_in(parts->host, host) : core::equal_ignoring_case(parts->host, host);
}

reading::Parsed<HostPattern> parse_host_pattern(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme != std::string_view::npos)
    return reading::fault("a host is not a URL", std::string(text.substr(scheme + 3)));
  const std::optional<Parts> parts = split(text);
  if (!parts) return reading::fault(fmt::format("\"{}\" is not a host, or a host and a port", text));
  const bool below = parts->host.starts_with("*.");
  const std::string_view name = parts->host.substr(below ? 1 : 0);
  const std::string_view bare = name.substr(below ? 1 : 0);
  if (!reading::is_host(bare) || (below && reading::is_address(bare))) {
    return reading::fault(fmt::format("\"{}\" is neither a name, `*.` and a name, nor an address", parts->host));
  }
  return HostPattern{.host = std::string(name), .port = std::string(parts->port), .below = below};
}

bool answers_to(std::span<const HostPattern> hosts, std::string_view authority) {
  return hosts.empty() || std::ranges::any_of(hosts, [&](const HostPattern& one) { return one.matches(authority); });
}

bool is_local(std::string_view authority) {
  constexpr std::string_view name = "localhost";
  const std::optional<Parts> parts = split(authority);
  return parts && (reading::is_address(parts->host) || core::equal_ignoring_case(parts->host, name) ||
                   ends_in(parts->host, ".localhost"));
}

}  // namespace semel::policy
