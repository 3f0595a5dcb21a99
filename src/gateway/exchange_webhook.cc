// What is special about an event: handshakes, its signature, and what its sender hears when it has been processed.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "gateway/exchange.h"
#include "gateway/metrics.h"
#include "gateway/webhook_metrics.h"
#include "policy/authenticate.h"
#include "policy/config.h"
#include "policy/handshake.h"
#include "policy/provider.h"
#include "policy/signatures.h"
#include <semel/async.h>
#include <semel/response.h>

namespace semel {

// Whether the request was a handshake, which has been answered then.
Task<bool> Exchange::shake_hands(const Webhook* webhook, Stage stage) {
  auto answer = answer_handshake(webhook->rules, webhook->lock, webhook->verify_token, request_, stage);
  if (!answer) co_return false;
  WebhookCounters& counters = plan_->counters_of(*webhook);
  auto& counter = answer->accepted ? counters.handshakes : counters.handshakes_refused;
  counter.fetch_add(1, std::memory_order_relaxed);
  note(answer->accepted ? Ending::passed : Ending::refused);
  detail_ = answer->accepted ? "handshake" : "handshake refused";
  co_await send(std::move(answer->response));
  co_return true;
}

std::optional<Authentic> Exchange::verify(const Webhook& webhook) {
  WebhookCounters& counters = plan_->counters_of(webhook);
  const auto authentic = authenticate(webhook.rules, webhook.lock, request_, services_.clock.now());
  if (authentic) {
    const std::size_t at = std::min(authentic->secret, WebhookCounters::secrets_counted - 1);
    counters.by_secret.at(at).fetch_add(1, std::memory_order_relaxed);
    return *authentic;
  }
  counters.by_fault.at(static_cast<std::size_t>(authentic.error())).fetch_add(1, std::memory_order_relaxed);
  detail_ = name(authentic.error());
  return std::nullopt;
}

// Whether what the handler said is replaced by what the sender wants to hear.
bool Exchange::acknowledges(std::uint16_t status) const {
  return webhook_ != nullptr && webhook_->rules.ack && status >= 200 && status < 300;
}

SharedResponse Exchange::acknowledgement() const {
  const Acknowledgement& ack = *webhook_->rules.ack;
  Response response{.status = ack.status, .fields = {}, .body = ack.body};
  if (!ack.body.empty()) response.fields.push_back({.name = "Content-Type", .value = "text/plain"});
  return std::make_shared<const Response>(std::move(response));
}

}  // namespace semel
