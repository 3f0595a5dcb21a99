// Who is asking for what: the key and the fingerprint of a request on a guarded route.
//
// How the text of a key is read:
//   key_from is one header          as include/semel/key.h says: a quoted string or a bare token, on one line
//   one other part                  the value, 1 to 255 printable ASCII characters
//   several parts                   a hash of the joined values, marked with a byte that no client can send
//
// In two steps, because most keys and scopes are known, and can be refused, before the body has been read.
#pragma once

#include <string>
#include <variant>

#include "core/shape.h"
#include "policy/request_view.h"
#include "policy/route.h"
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/problem.h>
#include <semel/store.h>

namespace semel::policy {

struct KeyOf {
  Key key;
  std::string text;  // for the target of a probe; never to be logged
};

struct Identity {
  Key key;
  Fingerprint fingerprint;
  std::string key_text;
  SharedOrder order = nullptr;  // of an event that is to run in the order of its object
  core::Shape shape{};          // to tell what differs from another request; often not known of events
};

// No key came, and the route does not ask for one: the request passes through unguarded.
struct Keyless {};

struct Refusal {
  Problem problem;
  std::string detail;  // for the sender; repeats no value of the request
};

using Keyed = std::variant<KeyOf, Keyless, Refusal>;
using Identified = std::variant<Identity, Keyless, Refusal>;

// Whether the key or the scope is in the caller's token.
bool needs_token(const Route& route);
// Whether the key or the scope is in the body.
bool needs_body(const Route& route);

Keyed find_key(const Route& route, const RequestView& request);
// The rest, when the body has arrived.
Identified identify(const Route& route, const RequestView& request, Keyed keyed);

inline Identified identify(const Route& route, const RequestView& request) {
  return identify(route, request, find_key(route, request));
}

}  // namespace semel::policy
