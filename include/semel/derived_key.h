// Keys for what an operation asks of others: e-mail, card and shipping providers that deduplicate too.
#pragma once

#include <string>
#include <string_view>

#include <semel/key.h>

namespace semel {

// A key for the call that `step` of the operation under `key` makes: 64 hexadecimal digits, the same for every attempt,
// another one for every operation and every step. It tells nothing of the client's own key.
std::string derived_key(const Key& key, std::string_view step);

}  // namespace semel
