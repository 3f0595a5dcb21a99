// The auditor of an inbox: what has not ended must stand in a queue, or nobody would ever come back to it.
//
//   waiting, for a time          under its due time
//   waiting, for its turn        in the line of its object, behind another or while one of it runs
//   running, made so by take()   among those that were taken
//   running since it was accepted   in the memory of this process
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/event_id.h"
#include "store/inbox.h"
#include "store/inbox_book.h"
#include "store/inbox_codec.h"
#include "store/inbox_table.h"
#include "store/inbox_unread.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store {

Result<bool> InboxBook::is_stray(InboxTable& table, const AcceptedEvent& event, const DeliveryRecord& delivery) {
  std::string place;
  if (delivery.state == DeliveryState::waiting) {
    place = delivery.in_line ? line_key(delivery.to, event.line, event.id)
                             : due_key(delivery.to, delivery.urgency, delivery.due, event.id);
  } else if (delivery.state == DeliveryState::running) {
    if (!delivery.taken) return !figures_.runs_first_attempt(event.id);
    place = taken_key(event.id, delivery.to);
  } else {
    return false;
  }
  const Result<std::optional<std::string>> found = table.get(place);
  if (!found) return std::unexpected(found.error());
  const std::optional<std::string>& entry = *found;
  if (!entry) return true;
  const bool in_turn = delivery.in_line && !figures_.busy(line_prefix(delivery.to, event.line));
  return in_turn ? is_first_in_line(table, event, delivery.to) : Result<bool>(false);
}

Result<void> InboxBook::audit_event(InboxTable& table, AcceptedEvent event, Time now) {
  for (DeliveryRecord& delivery : event.deliveries) {
    const Result<bool> stray = is_stray(table, event, delivery);
    if (!stray) return std::unexpected(stray.error());
    if (!*stray) continue;
    figures_.strayed(event, delivery);
    if (delivery.state != DeliveryState::waiting) continue;  // whether a handler is at work is not known
    delivery.in_line = false;
    delivery.due = now;
    delivery.changed = now;
    let_wait(table, event.id, delivery);
    table.put(event_key(event.id), encode_event(event));
  }
  return {};
}

Result<void> InboxBook::audit(InboxTable& table, std::size_t limit, Time now) {
  if (adopting_) return {};
  std::vector<AcceptedEvent> open;
  std::size_t looked = 0;
  const auto see = [&](std::string_view key, std::string_view value) {
    const std::optional<core::EventId> id = id_behind_tag(key);
    if (!id || *id <= audited_) return true;
    if (looked >= limit) return false;
    ++looked;
    audited_ = *id;
    Result<AcceptedEvent> event = decode_event(value, *id);
    if (!event) unread_.note(InboxUnread::name_of(*id), event.error(), now);
    if (event) open.push_back(*std::move(event));
    return true;
  };
  const Result<void> walked = table.walk(event_key(audited_), event_prefix, see);
  if (!walked) unread_.note("what is behind event " + audited_.text(), walked.error(), now);
  if (!walked || looked < limit) audited_ = {};
  for (AcceptedEvent& event : open) {
    const std::string name = InboxUnread::name_of(event.id);
    const Savepoint before = savepoint(table);
    const Result<void> done = audit_event(table, std::move(event), now);
    if (done) continue;
    go_back(table, before);
    unread_.note(name, done.error(), now);
  }
  return walked;
}

}  // namespace semel::store
