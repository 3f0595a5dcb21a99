// Each call hands a step over and waits for it. What a step finds stays in the frame of its caller.
#include "store/inbox_front.h"

#include <cstddef>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/codec.h"
#include "core/event_id.h"
#include "store/call.h"
#include "store/desk.h"
#include "store/inbox.h"
#include "store/inbox_book.h"
#include "store/inbox_codec.h"
#include "store/inbox_desk.h"
#include "store/inbox_step.h"
#include "store/inbox_table.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::store {
namespace {

bool takes(const DeliveryFilter& filter, const AcceptedEvent& event, const DeliveryRecord& delivery) {
  return (!filter.state || *filter.state == delivery.state) && (!filter.source || *filter.source == event.source) &&
         (!filter.to || *filter.to == delivery.to) && (!filter.type || *filter.type == event.type) &&
         (!filter.object || *filter.object == event.line.object);
}

// From the event of the cursor on; an event with several deliveries is never cut in two. What is damaged is left out:
// operators need to see the others then.
Result<void> search(InboxReader& reader, const DeliveryFilter& filter, const core::EventId& from, DeliveryList& list) {
  std::size_t looked = 0;
  const auto see = [&](std::string_view key, std::string_view value) {
    const std::optional<core::EventId> id = id_behind_tag(key);
    if (!id) return true;
    if (filter.until && id->accepted_at() >= *filter.until) return false;
    if (list.items.size() >= filter.items_max || looked >= looks_max) {
      list.cursor = id->text();
      list.searched_to = id->accepted_at();
      return false;
    }
    ++looked;
    const Result<AcceptedEvent> event = decode_event(value, *id);
    if (!event) return true;  // the auditor tells of it
    for (std::size_t i = 0; i < event->deliveries.size(); ++i) {
      if (takes(filter, *event, event->deliveries[i])) list.items.push_back({.event = *event, .at = i});
    }
    return true;
  };
  return reader.walk(event_key(from), event_prefix, see);
}

// In the time of a process that the store is `ahead` of.
AcceptedEvent for_process(AcceptedEvent event, Millis ahead) {
  for (DeliveryRecord& delivery : event.deliveries) {
    delivery.due -= ahead;
    delivery.since -= ahead;
    delivery.changed -= ahead;
  }
  return event;
}

}  // namespace

Task<void> InboxFront::make(InboxCall* call) {
  std::map<std::string, Time> dues;
  std::vector<std::string> unread;
  call->step = [step = std::move(call->step), &dues, &unread](InboxBook& book, InboxTable& table, KeyRecords& records,
                                                              Time now) {
    Result<void> made = step(book, table, records, now);
    dues = book.take_dues();
    unread = book.take_unread();
    return made;
  };
  co_await submit(call);
  if (unread_listener_) {
    for (const std::string& what : unread) unread_listener_(what);
  }
  if (!call->answer || !listener_) co_return;
  for (const auto& [to, at] : dues) listener_(to, at - ahead());
}

Async<Acceptance> InboxFront::accept(AcceptOrder order, AcceptReply reply) {
  std::optional<Acceptance> done;
  InboxCall call;
  call.step = [&](InboxBook& book, InboxTable& table, KeyRecords& records, Time now) {
    return kept(book.accept(table, records, order, reply, now), done);
  };
  co_await make(&call);
  auto* const event = done ? std::get_if<AcceptedEvent>(&*done) : nullptr;
  if (event != nullptr) *event = for_process(std::move(*event), ahead());
  co_return answer_of(call, done);
}

Async<TakenDeliveries> InboxFront::take(TakeOrder order) {
  std::optional<TakenDeliveries> done;
  InboxCall call;
  call.step = [&](InboxBook& book, InboxTable& table, KeyRecords&, Time now) {
    return kept(book.take(table, order, now), done);
  };
  co_await make(&call);
  Result<TakenDeliveries> taken = answer_of(call, done);
  if (!taken) co_return taken;
  for (TakenDelivery& each : taken->deliveries) each.event = for_process(std::move(each.event), ahead());
  std::optional<Time>& next = taken->next;
  if (next) *next -= ahead();
  co_return taken;
}

Async<void> InboxFront::settle(SettleOrder order) {
  InboxCall call;
  call.step = [&](InboxBook& book, InboxTable& table, KeyRecords& records, Time now) {
    return book.settle(table, records, order, now);
  };
  co_await make(&call);
  co_return std::move(call.answer);
}

Async<std::size_t> InboxFront::adopt(AdoptOrder order) {
  std::optional<std::size_t> done;
  InboxCall call;
  call.step = [&](InboxBook& book, InboxTable& table, KeyRecords&, Time now) {
    return kept(book.adopt(table, order, now), done);
  };
  co_await make(&call);
  co_return answer_of(call, done);
}

Async<std::optional<Parcel>> InboxFront::load(core::EventId id) {
  std::optional<Parcel> parcel;
  const auto look = [&](InboxReader& reader) -> Result<void> {
    const Result<std::optional<std::string>> found = reader.get(parcel_key(id));
    if (!found) return std::unexpected(found.error());
    const std::optional<std::string>& bytes = *found;
    if (!bytes) return {};
    const Result<SharedResponse> decoded = core::decode_response(*bytes);
    if (!decoded) return fail(Code::corrupt, "event " + id.text() + ": " + decoded.error().detail);
    parcel = **decoded;
    return {};
  };
  Result<void> answer;
  co_await read(look, &answer, Extent::brief);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return parcel;
}

Async<std::optional<AcceptedEvent>> InboxFront::find(core::EventId id) {
  Result<std::optional<AcceptedEvent>> found;
  const auto look = [&](InboxReader& reader) -> Result<void> {
    found = read_event(reader, id);
    return {};
  };
  Result<void> answer;
  co_await read(look, &answer, Extent::brief);
  co_return found;
}

Async<DeliveryList> InboxFront::list(DeliveryFilter filter, std::string cursor) {
  core::EventId from = core::EventId::first_at(filter.from.value_or(Time{}));
  if (!cursor.empty()) {
    const std::optional<core::EventId> given = core::EventId::from_text(cursor);
    if (!given) co_return fail(Code::invalid, "cursor: it is not one that a list has returned");
    from = *given;
  }
  DeliveryList list{.items = {}, .cursor = {}, .searched_to = now()};
  const auto look = [&](InboxReader& reader) { return search(reader, filter, from, list); };
  Result<void> answer;
  co_await read(look, &answer, Extent::list);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return list;
}

Async<std::vector<DeliveryTally>> InboxFront::status() {
  std::optional<std::vector<DeliveryTally>> tallies;
  InboxCall call;
  call.step = [&](InboxBook& book, InboxTable& table, KeyRecords&, Time) { return kept(book.status(table), tallies); };
  co_await make(&call);
  Result<std::vector<DeliveryTally>> found = answer_of(call, tallies);
  if (!found) co_return found;
  for (DeliveryTally& tally : *found) {
    if (tally.oldest) *tally.oldest -= ahead();
  }
  co_return found;
}

Async<AcceptedEvent> InboxFront::change(DeliveryChange change) {
  std::optional<AcceptedEvent> done;
  InboxCall call;
  call.step = [&](InboxBook& book, InboxTable& table, KeyRecords&, Time now) {
    return kept(book.change(table, change, now), done);
  };
  co_await make(&call);
  co_return answer_of(call, done);
}

Async<void> InboxFront::control(DestinationControl control) {
  if (control.until) *control.until += ahead();
  InboxCall call;
  call.step = [&](InboxBook&, InboxTable& table, KeyRecords&, Time) -> Result<void> {
    table.put(control_key(control.to), encode_control(control));
    return {};
  };
  co_await make(&call);
  co_return std::move(call.answer);
}

Async<std::vector<DestinationControl>> InboxFront::controls() {
  std::vector<DestinationControl> found;
  const auto look = [&](InboxReader& reader) -> Result<void> {
    std::optional<Error> failed;
    const auto see = [&](std::string_view key, std::string_view value) {
      Result<DestinationControl> control = decode_control(key, value);
      if (!control) failed = control.error();
      if (control) found.push_back(*std::move(control));
      return !failed;
    };
    Result<void> walked = reader.walk(control_prefix, control_prefix, see);
    if (failed) return std::unexpected(*std::move(failed));
    return walked;
  };
  Result<void> answer;
  co_await read(look, &answer, Extent::brief);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  for (DestinationControl& control : found) {
    if (control.until) *control.until -= ahead();
  }
  co_return found;
}

Async<bool> InboxFront::erase(core::EventId id, std::string reason) {
  std::optional<bool> done;
  InboxCall call;
  call.step = [&](InboxBook& book, InboxTable& table, KeyRecords&, Time now) {
    return kept(book.erase(table, id, reason, now), done);
  };
  co_await make(&call);
  co_return answer_of(call, done);
}

Async<std::size_t> InboxFront::sweep_inbox(std::size_t limit) {
  std::optional<std::size_t> done;
  InboxCall call;
  call.step = [&](InboxBook& book, InboxTable& table, KeyRecords&, Time now) {
    Result<void> dropped = kept(book.sweep(table, limit, now), done);
    if (!dropped) return dropped;
    const InboxBook::Savepoint swept = book.savepoint(table);
    const Result<void> audited = book.audit(table, limit, now);
    if (!audited) book.go_back(table, swept);  // it has told why, and begins again; what was dropped stays so
    return dropped;
  };
  co_await make(&call);
  co_return answer_of(call, done);
}

}  // namespace semel::store
