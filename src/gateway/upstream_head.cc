#include "gateway/upstream_head.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "core/ascii.h"
#include "gateway/sink.h"
#include "http/head.h"
#include "http/writer.h"
#include "policy/forward.h"
#include "policy/request_view.h"
#include "reading/address.h"

namespace semel::gateway {
namespace {

constexpr std::size_t head_bytes_usual = 1024;

std::string host_for(const config::UpstreamConfig& upstream, const policy::Hop& hop) {
  const bool called = !hop.scheme.empty();
  if (called && upstream.host == config::HostSource::client) return std::string(hop.host);
  return reading::host_field(upstream.urls.front());
}

// Fields of a body that a probe does not have, or that would make its answer another one than the request's.
bool describes_a_body(std::string_view name) {
  const std::string lower = core::to_lower(name);
  return lower.starts_with("content-") || lower.starts_with("if-") || lower == "range";
}

}  // namespace

std::string upstream_head(const config::UpstreamConfig& upstream, const policy::RequestView& request,
                          const policy::Hop& hop, const Onward& onward) {
  std::string head;
  head.reserve(head_bytes_usual);
  http::HeadWriter out = http::HeadWriter::request(head, request.method, request.target);
  policy::to_upstream(request, hop, host_for(upstream, hop), onward.attempt, into(out));
  if (onward.upgrade) out.field("Connection", "Upgrade").field("Upgrade", policy::websocket);
  if (onward.body.framing == http::Framing::length) out.length(onward.body.length);
  if (onward.body.framing == http::Framing::chunked) out.chunked();
  out.end();
  return head;
}

std::string probe_head(const config::UpstreamConfig& upstream, const policy::RequestView& request,
                       const policy::Hop& hop, std::string_view target) {
  std::string head;
  http::HeadWriter out = http::HeadWriter::request(head, "GET", target);
  policy::to_upstream(request, hop, host_for(upstream, hop), std::nullopt,
                      [&out](std::string_view name, std::string_view value) {
                        if (!describes_a_body(name)) out.field(name, value);
                      });
  out.end();
  return head;
}

}  // namespace semel::gateway
