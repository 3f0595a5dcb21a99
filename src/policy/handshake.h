// What a provider asks before it sends events, answered without the upstream and without the store.
//
// A handshake that returns an HMAC of what the caller chose would sign forged deliveries for anybody, so what may be
// echoed or signed is bounded: letters of an alphabet without a colon or a brace, and not many of them.
#pragma once

#include <cstdint>
#include <optional>

#include "policy/authenticate.h"
#include "policy/provider.h"
#include "policy/request_view.h"
#include "policy/secret.h"
#include <semel/response.h>

namespace semel {

enum class Stage : std::uint8_t {
  before_signature,  // handshakes that carry none
  after_signature,   // it was right
};

struct HandshakeAnswer {
  Response response;
  bool accepted = false;  // false: a refusal, 400 or 401
};

// Nothing: the request is no handshake of this stage.
std::optional<HandshakeAnswer> answer_handshake(const Provider& provider, const Lock& lock, const Secret& verify_token,
                                                const RequestView& request, Stage stage);

}  // namespace semel
