// GET /v1/outbox: the outboxes of this gateway, as their movers last saw them. Nothing is asked for it.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/handlers.h"
#include "admin/key_json.h"
#include "admin/sources.h"
#include "core/json/writer.h"
#include "policy/request_view.h"
#include "telemetry/outbox_metrics.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/response.h>

namespace semel::admin {

Task<Response> list_outboxes(const Sources* sources, policy::RequestView /*request*/, Caller /*caller*/) {
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().name("items").begin_array();
  for (const std::shared_ptr<const telemetry::OutboxMetrics>& outbox : sources->outboxes) {
    const telemetry::OutboxMetrics::View view = outbox->view();
    json.begin_object().text("name", view.name).text("standing", name(view.standing));
    json.number("waiting", view.waiting).number("oldest_ms", view.oldest_ms);
    json.number("moved", outbox->moved.load()).number("repeated", outbox->repeated.load());
    json.number("key_reused", outbox->key_reused.load()).number("undeliverable", outbox->undeliverable.load());
    if (const std::int64_t moved_at = outbox->moved_at.load(); moved_at != 0) {
      json.text("moved_at", time_text(Time{Millis{moved_at}}));
    }
    json.number("failures", outbox->failures.load()).number("turns_blocked", view.turns_blocked);
    json.bytes("trouble", view.trouble).end_object();
  }
  json.end_array().text("cursor", "").text("searched_to", time_text(sources->now())).boolean("complete", true);
  json.end_object();
  co_return json_answer(200, std::move(body));
}

}  // namespace semel::admin
