#include "webhook/outcome.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/encoding.h"
#include "policy/expression.h"
#include "policy/identify.h"
#include "policy/request_view.h"
#include "reading/secret.h"
#include "webhook/authenticate.h"
#include "webhook/captured.h"
#include "webhook/deliveries.h"
#include "webhook/event.h"
#include "webhook/event_batch.h"
#include "webhook/fetched_keys.h"
#include "webhook/handshake.h"
#include "webhook/provider.h"

namespace semel::test {
namespace {

std::string place_of(const policy::Identity& event) {
  if (event.order == nullptr) return "-";
  return core::to_hex(event.order->object.id) + "@" + core::to_hex(event.order->stamp);
}

}  // namespace

Outcome outcome_of(const Captured& captured, Sent request, const policy::Expression* key_from) {
  const webhook::Provider& provider = captured.provider;
  const webhook::Lock lock = lock_of(provider, {captured.secret});
  const webhook::Documents shelf = [&](const std::string& name) -> std::optional<std::string_view> {
    const auto found = captured.documents.find(name);
    return found == captured.documents.end() ? std::nullopt : std::optional<std::string_view>(found->second);
  };
  const policy::RequestView view = request.view();
  const webhook::Judged judged = judge_delivery(provider, lock, view, captured.now, shelf);
  const auto* authentic = std::get_if<webhook::Authentic>(&judged);
  if (authentic == nullptr) return {.refused = "not authentic"};
  const auto hello = answer_handshake(provider, lock, reading::Secret("verify"), view, webhook::Stage::after_signature);
  if (hello) return {.refused = "a handshake"};
  const webhook::EventPlace place{
      .space = "webhook:/hook", .key_from = key_from, .ordered = provider.event.order.has_value()};
  Outcome outcome{.refused = {}, .keys = {}, .places = {}, .scheme = authentic->scheme};
  const auto add = [&](const policy::Identity& event) {
    outcome.keys.push_back(core::to_hex(event.key.id));
    outcome.places += place_of(event) + " ";
  };
  const webhook::Split split = split_batch(provider, place, *authentic, view);
  if (const auto* refusal = std::get_if<policy::Refusal>(&split)) return {.refused = refusal->detail};
  if (const auto* batch = std::get_if<webhook::EventBatch>(&split)) {
    std::ranges::for_each(batch->identities, add);
    return outcome;
  }
  const policy::Identified identified = identify_event(provider, place, proof_of(*authentic), view);
  if (const auto* refusal = std::get_if<policy::Refusal>(&identified)) return {.refused = refusal->detail};
  if (const auto* identity = std::get_if<policy::Identity>(&identified)) add(*identity);
  return outcome;
}

}  // namespace semel::test
