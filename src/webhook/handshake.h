// What a provider asks before it sends events, answered without the upstream and without the store.
//
// A handshake that returns an HMAC of what the caller chose would sign forged deliveries for anybody, so what may be
// echoed or signed is bounded: letters of an alphabet without a colon or a brace, and not many of them.
#pragma once

#include <cstdint>
#include <optional>

#include "policy/request_view.h"
#include "reading/secret.h"
#include "webhook/authenticate.h"
#include "webhook/provider.h"
#include <semel/response.h>

namespace semel::webhook {

enum class Stage : std::uint8_t {
  before_signature,  // handshakes that carry none
  after_signature,   // it was right
};

struct HandshakeAnswer {
  Response response;
  bool accepted = false;  // false: a refusal, 400 or 401
};

// Nothing: the request is no handshake of this stage.
std::optional<HandshakeAnswer> answer_handshake(const Provider& provider, const Lock& lock,
                                                const reading::Secret& verify_token, const policy::RequestView& request,
                                                Stage stage);

}  // namespace semel::webhook
