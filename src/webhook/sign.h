// Makes deliveries as a provider would send them, from the same data that verifies them.
#pragma once

#include <string>
#include <vector>

#include "webhook/provider.h"
#include <semel/clock.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::webhook {

struct SignOrder {
  std::string secret{};  // as in the configuration; for schemes with a public key, the private one as PEM
  std::string id{};      // for the headers that name the event or are signed, where `fields` has none
  std::string public_url{};
  std::string target = "/";
  std::string content_type = "application/json";
  std::string body{};
  std::vector<Field> fields{};
  Time now{};
};

struct SignedDelivery {
  std::string method = "POST";
  std::string target;
  std::vector<Field> fields;
  std::string body;
};

// Uses the first of the provider's schemes that accepts such a secret and such a body. If the signature goes into a
// JSON body, the body says with `{signature}` where; if it goes into a form, the body is the field that is signed.
// Code::invalid: no scheme does; the detail says why.
Result<SignedDelivery> sign_delivery(const Provider& provider, const SignOrder& order);

}  // namespace semel::webhook
