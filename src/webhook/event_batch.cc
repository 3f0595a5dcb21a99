#include "webhook/event_batch.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "policy/identify.h"
#include "policy/json_items.h"
#include "policy/request_view.h"
#include "webhook/authenticate.h"
#include "webhook/event.h"
#include "webhook/provider.h"
#include <semel/key.h>
#include <semel/problem.h>
#include <semel/store.h>

namespace semel::webhook {

Split split_batch(const Provider& provider, const EventPlace& place, const Authentic& authentic,
                  const policy::RequestView& request) {
  if (!provider.event.items || !provider.event.deduplicate) return std::monostate{};
  auto items = policy::json_items(request.body, *provider.event.items, batch_items_max);
  if (!items) return std::monostate{};
  if (items->size() > batch_items_max) {
    return policy::Refusal{.problem = Problem::of(ProblemType::body_too_large),
                           .detail = fmt::format("A delivery may hold {} events.", batch_items_max)};
  }
  std::vector<std::pair<policy::Identity, std::size_t>> events;
  policy::RequestView element = request;
  Proof proof = proof_of(authentic);
  for (std::size_t i = 0; i < items->size(); ++i) {
    element.body = (*items)[i];
    if (authentic.signed_texts.size() > 1) proof.signed_text = authentic.signed_texts[i];
    policy::Identified identified = identify_event(provider, place, proof, element);
    if (auto* refusal = std::get_if<policy::Refusal>(&identified)) return std::move(*refusal);
    events.emplace_back(std::get<policy::Identity>(std::move(identified)), i);
  }
  std::ranges::sort(events, {}, [](const auto& event) {
    const SharedOrder& order = event.first.order;
    return std::tuple(order == nullptr ? Digest{} : order->object.id, event.first.key.id, event.second);
  });
  EventBatch batch{.items = *std::move(items), .identities = {}, .firsts = {}};
  for (auto& [identity, at] : events) {
    if (!batch.identities.empty() && batch.identities.back().key == identity.key) continue;
    batch.identities.push_back(std::move(identity));
    batch.firsts.push_back(at);
  }
  return batch;
}

std::string body_with(std::string_view body, const std::vector<std::string_view>& items,
                      const std::vector<bool>& keep) {
  if (items.empty() || std::ranges::find(keep, false) == keep.end()) return std::string(body);
  const auto begin = static_cast<std::size_t>(items.front().data() - body.data());
  const auto end = static_cast<std::size_t>(items.back().data() + items.back().size() - body.data());
  std::string out(body.substr(0, begin));
  bool first = true;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!keep[i]) continue;
    if (!first) out.push_back(',');
    out.append(items[i]);
    first = false;
  }
  return out.append(body.substr(end));
}

}  // namespace semel::webhook
