// Whether a delivery is authentic: any of our secrets may match any of its signatures, in any of the provider's
// schemes.
//
// It works on the bytes that arrived, before anything decodes them. A comparison takes the same time wherever tags
// differ. Secrets are decoded once, when the configuration is read.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/request_view.h"
#include "reading/secret.h"
#include "webhook/provider.h"
#include "webhook/signatures.h"
#include <semel/clock.h>

namespace semel::webhook {

struct SecretKey {
  std::string bytes;
  std::string id;  // its name, if the secret has one
};

// Null if the secret does not have this form.
std::optional<SecretKey> make_secret_key(const reading::Secret& secret, KeyForm form);

// What is known about an endpoint before the first delivery.
struct Lock {
  std::vector<std::vector<std::optional<SecretKey>>> keys;  // by scheme, then by secret
  std::string public_url;
  std::optional<Millis> tolerance;  // in place of the provider's
};
Lock make_lock(const Provider& provider, std::span<const reading::Secret> secrets, std::string_view public_url,
               std::optional<Millis> tolerance);

// Which scheme and which secret it was, counted from 0, and what was signed: one text, or one for each element of a
// batch whose elements are signed one by one. None for keys that are fetched.
struct Authentic {
  std::size_t scheme = 0;
  std::size_t secret = 0;
  std::vector<std::string> signed_texts{};
  std::string document{};  // the name of the fetched one that has the key
};

std::expected<Authentic, SignatureFault> authenticate(const Provider& provider, const Lock& lock,
                                                      const policy::RequestView& request, Time now);

// The text that a signature of such a request covers. Null if the request lacks a part of it.
std::optional<std::string> text_to_sign(const SignatureScheme& scheme, const Lock& lock,
                                        const policy::RequestView& request);

}  // namespace semel::webhook
