// Keys for calls to other companies (e-mail, card and shipping providers) that deduplicate, too.
#pragma once

#include <string>
#include <string_view>

#include <semel/key.h>

namespace semel {

// Returns a key for the call that `step` of the operation under `key` makes: 64 hexadecimal digits. It is the same for
// every attempt, and differs for every operation and every step. It reveals nothing of the client's own key. Send it as
// the Idempotency-Key of the other API.
std::string derived_key(const Key& key, std::string_view step);

}  // namespace semel
