// GET /v1/inbox/export: events with their deliveries and bodies, one JSON object in each line, oldest first.
//
// What is hidden of a body elsewhere (redact.h) is hidden here. The id of the last line is where to go on (`after`).
// The export is in the audit log before the first byte. It holds one piece of a list at a time, and sends no faster
// than its reader reads. If the store fails on the way, the stream is cut: only one that ends as it should is whole.
#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/desk_request.h"
#include "admin/handlers.h"
#include "admin/inbox_request.h"
#include "admin/key_json.h"
#include "admin/redact.h"
#include "admin/sources.h"
#include "config/config.h"
#include "core/event_id.h"
#include "core/json/writer.h"
#include "gateway/dispatcher.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/transaction.h"
#include "http/writer.h"
#include "policy/request_view.h"
#include "store/audit_log.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::admin {
namespace {

constexpr std::size_t piece = 100;  // deliveries, whose events are in memory at once; of bodies there is one
constexpr std::size_t flush_bytes = 65'536;

std::string export_text(const Caller& caller, const policy::RequestView& request, Time at) {
  std::string text;
  core::json::JsonWriter json(text);
  json.begin_object().text("at", time_text(at)).text("act", "export inbox").bytes("target", request.target);
  json.text("role", name_of(caller.role)).bytes("who", caller.name).bytes("from", caller.from).end_object();
  return text;
}

void write_line(std::string& out, const store::AcceptedEvent& event, const std::optional<store::Parcel>& parcel,
                const IgnoreList& redact) {
  core::json::JsonWriter json(out);
  json.begin_object().text("id", event.id.text()).bytes("source", event.source).bytes("type", event.type);
  json.text("accepted_at", time_text(event.id.accepted_at())).boolean("body_kept", parcel.has_value());
  json.name("deliveries").begin_array();
  for (const store::DeliveryRecord& delivery : event.deliveries) write_delivery(json, event, delivery);
  json.end_array();
  if (parcel) write_shown(json, *parcel, redact);
  json.end_object();
  out += '\n';
}

struct Export {
  const Sources& sources;
  http::Transaction& client;
  store::DeliveryFilter filter;
  std::shared_ptr<const config::Config> config;  // by which parts are hidden, from the first line to the last
  core::EventId last;                            // that has been sent, or behind which it begins
};

// The events of a piece. False: the store or the reader has failed.
Task<bool> send_piece(Export* work, const store::DeliveryList* list) {
  std::string out;
  for (const store::TakenDelivery& item : list->items) {
    if (item.event.id <= work->last) continue;
    work->last = item.event.id;
    const Result<std::optional<store::Parcel>> parcel = co_await work->sources.dispatcher->inbox().load(item.event.id);
    if (!parcel) co_return false;
    write_line(out, item.event, *parcel, work->config->admin.redact);
    if (out.size() < flush_bytes) continue;
    const http::Try<void> sent = co_await work->client.continue_reply(out);
    if (!sent) co_return false;
    work->client.await_more();
    out.clear();
  }
  if (out.empty()) co_return true;
  const http::Try<void> sent = co_await work->client.continue_reply(out);
  if (sent) work->client.await_more();
  co_return sent.has_value();
}

Task<bool> send_all(Export* work, std::string cursor) {
  do {
    Result<store::DeliveryList> list = co_await work->sources.dispatcher->desk().list(work->filter, std::move(cursor));
    if (!list) co_return false;
    const bool sent = co_await send_piece(work, &*list);
    if (!sent || work->sources.draining()) co_return false;
    cursor = std::move(list->cursor);
  } while (!cursor.empty());
  co_return true;
}

}  // namespace

Task<std::optional<Response>> stream_export(const Sources* sources, policy::RequestView request, Caller caller,
                                            http::Transaction* client) {
  if (sources->dispatcher == nullptr || sources->audit == nullptr)
    co_return error_answer(501, "this store has no inbox");
  Result<store::DeliveryFilter> filter = deliveries_in(request);
  if (!filter) co_return error_answer(400, filter.error().detail);
  filter->items_max = piece;
  core::EventId after;
  std::string cursor;
  if (const auto text = parameter(request, "after")) {
    const std::optional<core::EventId> id = core::EventId::from_text(*text);
    if (!id) co_return error_answer(400, "after: must be the id of an event, 32 hexadecimal digits");
    after = *id;
    cursor = *text;
  }
  if (client->is_head()) co_return Response{.status = 200, .fields = {}, .body = {}};
  std::string text = export_text(caller, request, sources->now());
  const Result<store::AuditEntry> logged = co_await sources->audit->append(std::move(text));
  if (!logged)
    co_return error_answer(503, "not shown, because the audit log cannot be written: " + logged.error().detail);
  const auto fields = [](http::HeadWriter& out) {
    out.field("Content-Type", "application/x-ndjson");
    out.field("Cache-Control", "no-store");
  };
  const http::Transaction::Form form{.framing = http::Framing::chunked, .length = 0};
  http::Try<void> sent = co_await client->start_reply(200, fields, form, "");
  Export work{
      .sources = *sources, .client = *client, .filter = *std::move(filter), .config = sources->config(), .last = after};
  bool whole = false;
  if (sent) whole = co_await send_all(&work, std::move(cursor));
  if (sent && !whole) client->cut_reply();
  if (whole) sent = co_await client->end_reply();
  if (!whole || !sent) client->close_after();
  co_return std::nullopt;
}

}  // namespace semel::admin
