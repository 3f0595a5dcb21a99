// One value out of a JSON document, by pointer.
//
// Done with Boost.JSON's push parser: it validates the whole document strictly (grammar, UTF-8, surrogates), keeps
// numbers as they were written, needs no tree, and is already a dependency. simdjson's on-demand reader skips what it
// does not visit without judging it, and its tree holds numbers as doubles. The canonicaliser does not keep numbers as
// written.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

namespace semel::policy {

enum class JsonMiss : std::uint8_t {
  not_json,   // or nested deeper than 64
  not_there,  // also: null, an object or an array
  ambiguous,  // a name on the way to the value occurs twice, so programs disagree on which one counts
};

// The text of a string, decoded; a number, true or false as written.
std::expected<std::string, JsonMiss> json_scalar(std::string_view document, std::span<const std::string> pointer);

// What stands at a place. Programs that find something there which is no scalar may still make use of it.
enum class JsonPresence : std::uint8_t { absent, null, scalar, nested, unclear };  // unclear: not JSON, or ambiguous

JsonPresence json_presence(std::string_view document, std::span<const std::string> pointer);

// Whether the whole of it is JSON, as strictly as above.
bool is_json(std::string_view document);

}  // namespace semel::policy
