// What a provider's own API is asked about a delivery: whether the provider sent it. PayPal has such an API.
//
// It is asked only about deliveries that have passed every check here, so that a stranger cannot have us ask. Nothing
// is fetched here: the questions and the answers are texts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/request_view.h"
#include "webhook/authenticate.h"
#include "webhook/fetched_keys.h"
#include "webhook/provider.h"
#include <semel/clock.h>

namespace semel::webhook {

struct Inquiry {
  Wanted token;  // what the API wants to see with a question
  std::string url;
  std::string body;
  std::string subject;  // the transmission that it is about
};

// `credentials` are CLIENT_ID|SECRET of the API. Null if a delivery cannot be asked about: its body is not JSON, or its
// certificate is from nowhere that has an API.
std::optional<Inquiry> inquiry_about(const Provider& provider, const Lock& lock, const Authentic& authentic,
                                     const SecretKey& credentials, const policy::RequestView& request);

struct AccessToken {
  std::string text;
  Millis life;
};
std::optional<AccessToken> read_access_token(std::string_view document);

// Whether the provider sent the delivery. Null if the document says neither.
std::optional<bool> read_verdict(std::string_view document);

}  // namespace semel::webhook
