// A Provider says how one sender of webhooks signs, names and repeats its events.
//
// It is data: a TOML file of providers/, compiled in, or one of the user's own (docs/webhooks.md has every key). A
// delivery is authentic if one of its signature schemes says so. What cannot be said as data, such as certificates that
// have to be fetched, is an Algorithm with code of its own.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/stamp.h"
#include "policy/expression.h"
#include "reading/issue.h"
#include "webhook/moment.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>

namespace semel::webhook {

enum class Algorithm : std::uint8_t {
  hmac_sha1,
  hmac_sha256,
  hmac_sha512,
  ed25519,
  ecdsa_p256_sha256,
  token,  // the secret itself is sent
  none,   // nothing is verified
  // With code of their own: fetched_keys.h.
  paypal,   // the secret is the id of the webhook
  aws_sns,  // the secret is the ARN of the topic
  jwt,      // a bearer token for EMAIL|AUDIENCE
  plaid,    // a token by a key that is asked for with CLIENT_ID|SECRET
};

// Whether a document has to be fetched before anything can be verified.
constexpr bool fetches_keys(Algorithm algorithm) {
  return algorithm == Algorithm::paypal || algorithm == Algorithm::aws_sns || algorithm == Algorithm::jwt ||
         algorithm == Algorithm::plaid;
}

// How the key is made from the secret in the configuration.
enum class KeyForm : std::uint8_t {
  raw,      // its bytes as they are
  hex,      // decoded
  base64,   // decoded
  whsec,    // base64, perhaps after `whsec_`
  whpk,     // base64 after `whpk_`: a public key
  id_sha1,  // `ID|SECRET`: the SHA-1 of SECRET; ID names it
  id_raw,   // `ID|SECRET`: the bytes of SECRET; ID names it
};

enum class Encoding : std::uint8_t { hex, base64, base64url, text };

// One way of signing.
struct SignatureScheme {
  Algorithm algorithm = Algorithm::hmac_sha256;
  KeyForm key = KeyForm::raw;
  policy::Expression from;  // one part: {header:}, {headers:}, {query:}, {json:} or {form:}
  char separator = '\0';    // between several signatures; none if there is one per line
  std::string prefix;       // of an item that is a signature, with ID for the name of the secret
  std::string suffix;
  bool prefix_has_key_id = false;
  Encoding encoding = Encoding::hex;
  policy::Expression signed_text;
  std::optional<policy::Expression> body_hash;  // where to find a SHA-256 of the body, in hexadecimal, which is signed
  std::vector<policy::Expression> id;           // of the events that it verifies; empty: as in [event]
  bool per_item = false;                        // each element of a batch carries a signature of its own

  std::vector<std::string> keys;     // where keys may be fetched: how their addresses begin
  std::vector<std::string> issuers;  // of tokens
  std::vector<std::string> api;      // the provider's own, for each of `keys`: see inquiry.h

  std::optional<policy::Expression> timestamp;
  MomentForm timestamp_form = MomentForm::seconds;
  Millis tolerance{0};  // zero if any age is fine
};

// Whether a time is signed, so that a tolerance means something.
inline bool has_time(const SignatureScheme& scheme) {
  return scheme.timestamp || scheme.algorithm == Algorithm::paypal || scheme.algorithm == Algorithm::aws_sns ||
         scheme.algorithm == Algorithm::plaid;
}

// How long a signature counts at most, from the earliest moment at which it does: its time may be ahead of ours, too.
// Zero if its age does not matter. `tolerance` replaces the scheme's.
inline Millis longest_life(const SignatureScheme& scheme, std::optional<Millis> tolerance) {
  return has_time(scheme) ? 2 * tolerance.value_or(scheme.tolerance) : Millis{0};
}

struct EventRules {
  bool deduplicate = true;             // false if nothing names an event: every authentic delivery is handed on
  std::vector<policy::Expression> id;  // the first whose parts are all present
  std::optional<policy::Expression> type;
  std::optional<policy::Expression> object;
  std::optional<policy::Expression> order;
  core::OrderForm order_form = core::OrderForm::number;
  std::optional<std::vector<std::string>> items;  // of a batch: the pointer to the array
  IgnoreList ignore;                              // what differs between attempts, where the id is not signed
};

// The answer to a sender when its event has been processed, whatever the handler's answer was.
struct Acknowledgement {
  std::uint16_t status = 200;
  std::string body;
};

enum class TokenLetters : std::uint8_t { plain, hex, digits };

struct Handshake {
  std::string method = "POST";
  std::optional<policy::Expression> when;    // must be present, and
  std::string is;                            // equal to this if this is not empty
  std::optional<policy::Expression> unless;  // must be absent
  bool authenticated = true;                 // answered only when the request's signature is right
  std::optional<policy::Expression> token;
  TokenLetters letters = TokenLetters::plain;
  std::uint32_t token_bytes_max = 256;
  std::optional<policy::Expression> verify;  // must equal the verify_token of the configuration
  std::optional<Algorithm> hmac;             // of the token, under the first secret
  Encoding hmac_encoding = Encoding::hex;

  std::uint16_t status = 200;
  std::optional<policy::Expression> text;
  // A JSON object: each member a text with parts, or a number.
  std::vector<std::pair<std::string, std::variant<policy::Expression, std::int64_t>>> json;
  std::vector<std::pair<std::string, policy::Expression>> fields;
};

struct Provider {
  std::string name;
  std::string title;
  std::string about;      // what is not verified about the rest, for people
  std::string json_part;  // the part of a form (multipart/form-data) that holds the JSON; empty: the body does
  std::vector<SignatureScheme> schemes;
  EventRules event;
  Millis horizon{0};  // how long it repeats an event by itself; zero if it does not, or if that is not documented
  Millis ttl{0};
  std::optional<Acknowledgement> ack;
  std::vector<Handshake> handshakes;
};

struct LoadedProvider {
  Provider provider;
  std::vector<reading::Issue> warnings;
};

// `file` is its name in the issues. The error has every error and every warning, in the order of the file.
std::expected<LoadedProvider, std::vector<reading::Issue>> parse_provider(std::string_view text, std::string_view name,
                                                                          std::string_view file);

// The part of a key that changes from attempt to attempt, as it is written: the signature, its time, a number of the
// attempt. Null if there is none. With such a key every retry would look new.
std::optional<std::string> unstable_part(const policy::Expression& key, const std::vector<SignatureScheme>& schemes);

// The providers that are compiled in, in the order of their names.
struct ProviderFile {
  std::string_view name;
  std::string_view text;
};
std::span<const ProviderFile> builtin_providers();

}  // namespace semel::webhook
