// What a WebhookVerifier knows: the provider's rules and the secrets, decoded once.
#pragma once

#include <string>

#include "policy/authenticate.h"
#include "policy/fetched_keys.h"
#include "policy/identify.h"
#include "policy/provider.h"
#include "policy/request_view.h"
#include "policy/secret.h"
#include <semel/clock.h>
#include <semel/http_request.h>
#include <semel/webhook.h>

namespace semel {

RequestView view_of(const HttpRequest& request);

class WebhookVerifier::Impl {
 public:
  Provider provider;
  Lock lock;
  Secret verify_token;
  std::string space;
  Clock* clock = nullptr;

  [[nodiscard]] Judged judge(const RequestView& request) const;
  // Of an authentic delivery.
  [[nodiscard]] Identified identify(const RequestView& request, const Authentic& authentic) const;
};

}  // namespace semel
