// Who is asking for what: the key and the fingerprint of a request on a guarded route.
//
// The text of a key is read so:
//   key_from is one header          as include/semel/key.h says: a quoted string or a bare token, on one line
//   one other part                  the value, 1 to 255 printable ASCII characters
//   several parts                   a hash of the joined values, marked with a byte that no client can send
#pragma once

#include <string>
#include <variant>

#include "policy/config.h"
#include "policy/request_view.h"
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/problem.h>

namespace semel {

struct Identity {
  Key key;
  Fingerprint fingerprint;
  std::string key_text;  // for the target of a probe; never to be logged
};

// No key came, and the route does not ask for one: the request passes through unguarded.
struct Keyless {};

struct Refusal {
  Problem problem;
  std::string detail;  // for the sender; repeats no value of the request
};

using Identified = std::variant<Identity, Keyless, Refusal>;

Identified identify(const Route& route, const RequestView& request);

}  // namespace semel
