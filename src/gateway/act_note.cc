#include "gateway/act_note.h"

#include <utility>
#include <vector>

#include "core/json/writer.h"
#include "store/history.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::gateway {

Task<void> note_act(store::History* history, Digest id, ActNote note, Time at) {
  if (history == nullptr) co_return;
  store::HistoryRow row{.kind = store::HistoryKind::sighting, .subject = {id.begin(), id.end()}, .at = at, .value = {}};
  core::json::JsonWriter json(row.value);
  json.begin_object().text("event", "act").number("fence", note.fence).bytes("act", note.act).bytes("who", note.who);
  json.bytes("role", note.role).bytes("reason", note.reason).number("audit", note.audit).end_object();
  std::vector<store::HistoryRow> rows;
  rows.push_back(std::move(row));
  // It is in the audit log; that it is not in the timeline harms nobody.
  static_cast<void>(co_await history->append(std::move(rows)));
}

}  // namespace semel::gateway
