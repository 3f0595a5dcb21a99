// Tokens of handshakes: what is echoed to a stranger, or signed for him.
#pragma once

#include <string_view>

#include "webhook/provider.h"

namespace semel::webhook {

// Whether the token is short, and of the letters that the handshake allows.
bool is_allowed(std::string_view token, const Handshake& handshake);

// Whether somebody could have had this text signed in a handshake.
bool is_signed_for_strangers(const Provider& provider, std::string_view text);

}  // namespace semel::webhook
