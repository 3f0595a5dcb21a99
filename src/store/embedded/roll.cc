// A record that cannot be read is left out: whoever asks for its key hears why.
#include "store/embedded/roll.h"

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "store/cursor.h"
#include "store/embedded/ledger.h"
#include "store/key_roll.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::embedded {

Async<RollPage> EmbeddedRoll::expiring(RollSpan span, std::string cursor) {
  Result<RollPage> page;
  const auto look = [&] { page = read(span, cursor); };
  co_await aside_.run(look);
  co_return page;
}

Result<RollPage> EmbeddedRoll::read(const RollSpan& span, const std::string& cursor) {
  const std::optional<ListPlace> after = from_cursor(cursor);
  if (!after && !cursor.empty()) return fail(Code::invalid, "cursor: it is not one that a roll has returned");
  const Expiry behind =
      after ? Expiry{.at = after->at, .id = after->id} : Expiry{.at = span.from - Millis{1}, .id = {}};
  const Result<std::vector<Expiry>> entries = ledger_.roll(behind, span.to, roll_page_max);
  if (!entries) return std::unexpected(entries.error());
  RollPage page;
  std::vector<Digest> ids;
  for (const Expiry& entry : *entries) ids.push_back(entry.id);
  const std::vector<Result<std::optional<Record>>> records = ledger_.read_all(ids);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Expiry& entry = (*entries)[i];
    if (entry.at < span.from || !records[i]) continue;
    const std::optional<Record>& record = *records[i];
    if (!record || record->state == Record::State::object || record->key.space != span.space) continue;
    page.items.push_back(
        {.id = entry.id, .state = record->state, .claimed_at = record->claimed_at, .expires_at = record->expires_at});
  }
  if (entries->size() == roll_page_max) page.cursor = to_cursor({.at = entries->back().at, .id = entries->back().id});
  return page;
}

}  // namespace semel::store::embedded
