// A webhook: requests that are events of one provider. Its file says who sent one and which event it is.
//
// The namespace of its keys is its own. Only a success is kept: a handler that fails gets the event again when the
// provider sends it again. conf/semel.toml explains each member that can be configured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inbox/destination.h"
#include "policy/expression.h"
#include "policy/pattern.h"
#include "policy/target.h"
#include "reading/secret.h"
#include "reading/units.h"
#include "webhook/authenticate.h"
#include "webhook/provider.h"
#include <semel/clock.h>

namespace semel::webhook {

enum class Delivery : std::uint8_t { forward, inbox };

struct Webhook {
  policy::Pattern path;
  policy::Pattern plain_path;  // as the most lenient server reads it; see policy/spelling.h
  policy::Target target;
  std::string space;
  std::string provider;
  Provider rules;  // from the provider's file
  std::vector<reading::Secret> secrets;
  reading::Secret verify_token;
  reading::Secret api_credentials;
  std::optional<SecretKey> api_key;             // made from them; null: the provider's API is not asked
  Lock lock;                                    // made from the rules and the secrets
  std::optional<policy::Expression> event_key;  // null: as the provider's file says
  Delivery delivery = Delivery::forward;
  std::optional<inbox::InboxRules> intake;  // of an inbox
  bool ordered = false;
  bool confirm_subscriptions = false;
  std::optional<reading::Rate> rate_limit;
  std::optional<reading::Rate> rate_limit_per_ip;
  std::optional<Millis> tolerance;  // null: as the provider's file says
};

}  // namespace semel::webhook
