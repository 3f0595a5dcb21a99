// The question that a provider asks before it sends events, answered without the upstream and the store.
//
// A handshake that returns an HMAC of any text would sign forged deliveries for anybody. So what may be echoed or
// signed is limited: characters of an alphabet without a colon or a brace, and few of them. And no delivery is taken
// whose signed text is one that a handshake would sign.
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
  bool accepted = false;  // false for a refusal, 400 or 401
};

// Null if the request is not a handshake of this stage.
std::optional<HandshakeAnswer> answer_handshake(const Provider& provider, const Lock& lock,
                                                const reading::Secret& verify_token, const policy::RequestView& request,
                                                Stage stage);

}  // namespace semel::webhook
