// The fields of a request to the next hop: its own, except those that end here, and how it came.
#include "policy/forward.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/ascii.h"
#include "core/field_view.h"
#include "policy/expression.h"
#include "policy/fields.h"
#include "policy/name_set.h"
#include "policy/request_view.h"
#include "policy/route.h"

namespace semel::policy {
namespace {

constexpr std::string_view via_field = "Via";
constexpr std::string_view for_field = "X-Forwarded-For";
constexpr std::string_view proto_field = "X-Forwarded-Proto";
constexpr std::string_view host_field_name = "X-Forwarded-Host";

// Written anew below, or not ours to pass on.
constexpr NameSet rewritten("Host", "Expect", attempt_field, via_field, for_field);
constexpr NameSet overriding("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-URL",
                             "X-Original-Method", "X-Rewrite-URL", "X-Original-URI", "X-HTTP-Path-Override",
                             "X-Override-URL", "X-HTTP-DestinationURL", "X-Envoy-Original-Path");
constexpr NameSet of_the_way("Forwarded", "X-Real-IP", "Client-IP", "True-Client-IP", "CF-Connecting-IP",
                             "CF-Connecting-IPv6", "Fastly-Client-IP", "X-Client-IP", "X-Cluster-Client-IP",
                             "X-Original-Forwarded-For", "X-ProxyUser-IP", "X-Azure-ClientIP", "X-Azure-SocketIP",
                             "X-Envoy-External-Address", "X-AppEngine-User-IP");
constexpr std::string_view of_the_way_prefix = "X-Forwarded";

// Fields that decide what a request means or who sent it. What a proxy before us tells of a client has no fixed names:
// these are the usual ones.
constexpr NameSet meaningful("Host", "Content-Length", "Content-Type", "Authorization", "Cookie", "Idempotency-Key",
                             "Signature", "Signature-Input", "True-Client-IP", "From", "Origin", "Referer", "Client-IP",
                             "Client-Cert", "Client-Cert-Chain");
constexpr std::array<std::string_view, 26> prefixes_of_identity{
    "X-Auth",    "X-User",      "X-Remote",   "X-Client", "X-SSL",     "X-TLS",      "X-Tenant",
    "X-Account", "X-Consumer",  "X-Amzn-",    "X-Goog-",  "X-MS-",     "CF-",        "Remote",
    "SSL-",      "Webhook-",    "Svix-",      "X-ARR-",   "X-Azure-",  "X-Cluster-", "X-Envoy-",
    "X-JWT-",    "X-Pomerium-", "X-WebAuth-", "Fastly-",  "Tailscale-"};
constexpr std::string_view signature_word = "signature";

// The lines of a list field as one, followed by `last`.
std::string appended(std::span<const FieldView> fields, std::string_view name, std::string_view last) {
  std::string list;
  for (const FieldView& field : fields) {
    if (!core::equal_ignoring_case(field.name, name) || core::trimmed(field.value).empty()) continue;
    list.append(field.value).append(", ");
  }
  return list.append(last);
}

bool begins_with(std::string_view name, std::string_view prefix) {
  return core::equal_ignoring_case(name.substr(0, prefix.size()), prefix);
}

bool tells_the_way(std::string_view name) {
  return of_the_way.contains(name) || begins_with(name, of_the_way_prefix);
}

bool says_who(std::string_view name) {
  if (meaningful.contains(name) || tells_the_way(name)) return true;
  if (std::ranges::any_of(prefixes_of_identity, [&](std::string_view prefix) { return begins_with(name, prefix); })) {
    return true;
  }
  const auto same = [](char a, char b) { return core::to_lower(a) == b; };
  return !std::ranges::search(name, signature_word, same).empty();
}

constexpr std::string_view hops_field = "Max-Forwards";

bool counts_hops(const RequestView& request) {
  return request.method == "OPTIONS";
}

// Capped at a number that nobody needs more of. Null if it is not a number.
std::optional<std::uint32_t> parse_hops(std::string_view text) {
  if (text.empty() || !std::ranges::all_of(text, core::is_digit)) return std::nullopt;
  std::uint32_t hops = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), hops);
  return error == std::errc{} ? hops : std::numeric_limits<std::uint32_t>::max();
}

// One less, for a request that goes on.
std::string counted_down(std::string_view hops) {
  const std::uint32_t left = parse_hops(hops).value_or(0);
  return std::to_string(left == 0 ? 0 : left - 1);
}

bool has_field(std::span<const FieldView> fields, std::string_view name) {
  return std::ranges::any_of(fields,
                             [&](const FieldView& field) { return core::equal_ignoring_case(field.name, name); });
}

bool names_header(const Expression& expression, std::string_view name) {
  return std::ranges::any_of(expression.parts, [&](const Part& part) {
    return part.kind == PartKind::header && core::equal_ignoring_case(part.text, name);
  });
}

}  // namespace

void to_upstream(const RequestView& request, const Hop& hop, std::string_view host,
                 std::optional<std::uint64_t> attempt, FieldSink sink) {
  const bool keep_the_way = hop.forwarded == Forwarded::append;
  const bool counting = counts_hops(request);
  const ConnectionNames connection = named_by_connection(request.fields);
  sink("Host", host);
  for (const FieldView& field : request.fields) {
    if (!is_field_name(field.name) || !is_field_value(field.value)) continue;
    if (is_hop_by_hop(field.name) || is_framing(field.name) || contains_name(connection, field.name)) continue;
    if (rewritten.contains(field.name)) continue;
    if (!keep_the_way && tells_the_way(field.name)) continue;
    if (hop.overrides == Overrides::drop && overriding.contains(field.name)) continue;
    if (counting && core::equal_ignoring_case(field.name, hops_field)) {
      sink(field.name, counted_down(field.value));
      continue;
    }
    sink(field.name, field.value);
  }
  const auto came = [&](std::string_view name) { return keep_the_way && has_field(request.fields, name); };
  sink(via_field, appended(request.fields, via_field, std::string(hop.version).append(" ").append(hop.via)));
  if (!hop.scheme.empty()) {
    sink(for_field, keep_the_way ? appended(request.fields, for_field, request.ip) : std::string(request.ip));
    if (!came(proto_field)) sink(proto_field, hop.scheme);
    if (!came(host_field_name)) sink(host_field_name, hop.host);
  }
  if (attempt) sink(attempt_field, std::to_string(*attempt));
}

std::optional<std::string> dropped_by_request(std::span<const FieldView> fields) {
  for (const std::string_view name : named_by_connection(fields)) {
    if (says_who(name)) return std::string(name);
  }
  return std::nullopt;
}

std::optional<std::string> dropped_by_request(std::span<const FieldView> fields, const Route& route) {
  if (auto dropped = dropped_by_request(fields)) return dropped;
  for (const std::string_view name : named_by_connection(fields)) {
    if (names_header(route.key_from, name) || names_header(route.scope, name)) return std::string(name);
  }
  return std::nullopt;
}

bool asks_for_websocket(const RequestView& request) {
  const std::vector<std::string_view> upgrades = lines_of(request.fields, "Upgrade");
  return request.method == "GET" && upgrades.size() == 1 &&
         core::equal_ignoring_case(core::trimmed(upgrades.front()), websocket) &&
         contains_name(named_by_connection(request.fields), "Upgrade");
}

Reach reach_of(const RequestView& request) {
  if (!counts_hops(request)) return Reach::onward;
  const std::vector<std::string_view> lines = lines_of(request.fields, hops_field);
  if (lines.empty()) return Reach::onward;
  const std::optional<std::uint32_t> hops = lines.size() == 1 ? parse_hops(lines.front()) : std::nullopt;
  if (!hops) return Reach::malformed;
  return *hops == 0 ? Reach::here : Reach::onward;
}

bool goes_in_circles(std::span<const FieldView> fields, std::string_view via) {
  for (std::string_view line : lines_of(fields, via_field)) {
    while (!line.empty()) {
      const std::size_t end = std::min(line.find(','), line.size());
      // `1.1 name (comment)` or `HTTP/1.1 name`
      std::string_view entry = core::trimmed(line.substr(0, end));
      entry.remove_prefix(std::min(entry.size(), entry.find(' ')));
      entry = core::trimmed(entry);
      if (core::equal_ignoring_case(entry.substr(0, entry.find(' ')), via)) return true;
      line.remove_prefix(std::min(line.size(), end + 1));
    }
  }
  return false;
}

}  // namespace semel::policy
