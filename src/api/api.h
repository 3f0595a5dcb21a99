// The listener of the claims API: the one place that reads a request, checks who sent it and writes the answer.
//
// In this order: 404 and 405 for what there is not, 401 without a token, 403 if the token may not make the call, 413
// and 400 for a body that cannot be read, 429 over the token's rate; then each item by itself (item.h, work.h,
// answer.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "api/access.h"
#include "api/answer.h"
#include "api/work.h"
#include "config/config.h"
#include "core/json/view.h"
#include "http/session.h"
#include "http/transaction.h"
#include "telemetry/metrics.h"
#include "telemetry/request_log.h"
#include "telemetry/sighting.h"
#include <semel/async.h>

namespace semel::api {

// The description of the API (OpenAPI 3.1): docs/openapi-claims.json.
std::string_view openapi_document();

// What the handlers of all threads share, and what each has for itself. All of it outlives them.
struct ApiParts {
  Ledgers ledgers;
  Rates& rates;
  telemetry::Metrics& metrics;
  telemetry::RequestLog& log;
  std::function<std::shared_ptr<const config::Config>()> config;  // the one in force
  std::function<telemetry::SightingBuffer*()> sighted;            // null if nobody takes them
};

class Api : public http::RequestHandler {
 public:
  explicit Api(ApiParts parts) : parts_(std::move(parts)) {}

  Task<void> handle(http::Transaction& transaction) override;
  void handshake_failed() override;
  void turned_away() override;

 private:
  struct Exchange;
  Task<void> answer(http::Transaction* client);
  Task<void> perform(Exchange* exchange);
  Task<void> perform_batch(Exchange* exchange, core::json::JsonView document);
  Task<void> finish(Exchange* exchange, std::shared_ptr<Shift> shift);
  void count(const Exchange& exchange, const ItemAnswer& answer);
  void sight(const Exchange& exchange, const Shift& shift);
  void record(const Exchange& exchange);

  ApiParts parts_;
};

}  // namespace semel::api
