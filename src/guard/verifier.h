// A WebhookEndpoint is what a WebhookVerifier knows: the provider's rules and the secrets, decoded once.
#pragma once

#include <string>

#include "policy/identify.h"
#include "policy/request_view.h"
#include "reading/secret.h"
#include "webhook/authenticate.h"
#include "webhook/fetched_keys.h"
#include "webhook/provider.h"
#include <semel/clock.h>
#include <semel/http_request.h>

namespace semel::guard {

policy::RequestView view_of(const HttpRequest& request);

class WebhookEndpoint {
 public:
  webhook::Provider provider;
  webhook::Lock lock;
  reading::Secret verify_token;
  std::string space;
  Clock* clock = nullptr;

  [[nodiscard]] webhook::Judged judge(const policy::RequestView& request) const;
  // For an authentic delivery.
  [[nodiscard]] policy::Identified identify(const policy::RequestView& request,
                                            const webhook::Authentic& authentic) const;
};

}  // namespace semel::guard
