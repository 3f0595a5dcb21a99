// The fields of a request on its way to the upstream.
//
// The caller's fields go on unchanged, key and trace fields included. Exceptions: fields that end at this hop, Expect,
// Idempotency-Attempt (only we may set it), and the Max-Forwards of OPTIONS (it counts down). Host, Via,
// X-Forwarded-For, -Proto and -Host are added, and Idempotency-Attempt for a guarded request. The writer of the message
// adds framing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/field_view.h"
#include "policy/fields.h"
#include "policy/request_view.h"
#include "policy/route.h"

namespace semel::policy {

inline constexpr std::string_view attempt_field = "Idempotency-Attempt";

// What becomes of the X-Forwarded-* fields that a request brings along.
enum class Forwarded : std::uint8_t { append, replace };

// What becomes of the fields that tell an upstream to take another method or path than the request line says
// (X-HTTP-Method-Override, X-Original-URL): a guarded POST must not become something else behind the guard.
enum class Overrides : std::uint8_t { drop, pass };

// How the request reached us.
struct Hop {
  std::string_view scheme;           // "http" or "https"; empty if nobody called us and the request is our own
  std::string_view host;             // the name that the caller used: its Host field or the authority of its target
  std::string_view version = "1.1";  // of HTTP
  std::string_view via;              // our name
  Forwarded forwarded = Forwarded::append;
  Overrides overrides = Overrides::drop;
};

// `host` is the Host field to send. `attempt` is the fence's number; null if the request is not guarded. With `append`,
// X-Forwarded-For grows by the peer, and -Proto and -Host stay if the proxy before us set them. With `replace`,
// everything that the request says about its way is dropped, RFC 7239's Forwarded too.
void to_upstream(const RequestView& request, const Hop& hop, std::string_view host,
                 std::optional<std::uint64_t> attempt, FieldSink sink);

// The name of a field that the request asks us to drop (`Connection: Authorization`) and that decides what the request
// means or says who sent it: Host, Content-Length, credentials, signatures, what proxies tell of the client. Such a
// request is refused (400).
std::optional<std::string> dropped_by_request(std::span<const FieldView> fields);
// The same, and for what the key and the scope of a route are made of.
std::optional<std::string> dropped_by_request(std::span<const FieldView> fields, const Route& route);

// The value of an Upgrade field that asks for one, or agrees.
inline constexpr std::string_view websocket = "websocket";

// Whether the request asks for a WebSocket (RFC 6455 §4.1) and for nothing else.
bool asks_for_websocket(const RequestView& request);

// How far a request may go (RFC 9110 §7.6.2): an OPTIONS request whose Max-Forwards is 0 is for us to answer, and one
// that goes on gets one less. With other methods the field means nothing; TRACE never gets here. A value that is not
// one number is malformed.
enum class Reach : std::uint8_t { onward, here, malformed };
Reach reach_of(const RequestView& request);

// Whether the request has been through a gateway of this name already.
bool goes_in_circles(std::span<const FieldView> fields, std::string_view via);

}  // namespace semel::policy
