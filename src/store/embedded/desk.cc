// What is read here has been written by others; nothing is locked for it.
#include "store/embedded/desk.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <expected>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/settlement.h"
#include "core/transition.h"
#include "store/call.h"
#include "store/cursor.h"
#include "store/desk.h"
#include "store/embedded/unsettled_index.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::embedded {
namespace {

constexpr std::size_t piece = 256;  // of the index, between two looks at the clock

// What a list looks at, in order: the claims that run in memory and the entries of the engine. None is named twice.
class Unsettled {
 public:
  Unsettled(UnsettledIndex& index, const std::optional<ListPlace>& after)
      : index_(index),
        given_(after.has_value()),
        outset_(index.outset(after.value_or(ListPlace{.at = Time::min()}), looks_max)),
        after_(after.value_or(outset_.beginning)) {}

  // Empty at the end. `now`: nothing has been claimed later.
  Result<std::vector<ListPlace>> next(Time now) {
    if (ended_) return std::vector<ListPlace>();
    Result<std::vector<ListPlace>> found = index_.find(after_, piece);
    if (!found) return found;
    if (!std::exchange(given_, true)) {
      index_.begins(found->empty() ? now : found->front().at - Millis{1}, outset_);
    }
    ended_ = found->size() < piece;
    if (!found->empty()) after_ = found->back();
    const auto from = outset_.running.begin() + static_cast<std::ptrdiff_t>(taken_);
    const auto until = ended_ ? outset_.running.end() : std::upper_bound(from, outset_.running.end(), after_);
    taken_ = static_cast<std::size_t>(until - outset_.running.begin());
    std::vector<ListPlace> both;
    std::set_union(from, until, found->begin(), found->end(), std::back_inserter(both));
    return both;
  }

 private:
  UnsettledIndex& index_;
  bool given_;  // nothing can be learnt about where the entries of the engine begin
  UnsettledIndex::Outset outset_;
  ListPlace after_;        // of the engine
  std::size_t taken_ = 0;  // of those that run
  bool ended_ = false;
};

}  // namespace

Async<std::vector<Held>> EmbeddedDesk::find(std::string id_begins, std::size_t limit) {
  Result<std::vector<Held>> found;
  const auto look = [&] { found = find_now(id_begins, limit); };
  co_await aside_.run(look);
  co_return found;
}

Async<KeyList> EmbeddedDesk::list(KeyFilter filter, std::string cursor) {
  Result<KeyList> found;
  const auto look = [&] { found = list_now(filter, cursor); };
  co_await aside_.run(look);
  co_return found;
}

Async<void> EmbeddedDesk::settle(Digest id, core::Settlement settlement) {
  StoreCall call{.key = {.id = id, .scope = {}, .space = {}}, .request = {}};
  auto& request = call.request.emplace<SettleCall>();
  request.settlement = std::move(settlement);
  co_await committer_.submit(call);
  co_return std::move(request.answer);
}

// Of an object, if it was asked for by its whole id.
std::optional<Record> EmbeddedDesk::last_event(const Record& object, const std::string& id_begins) {
  if (id_begins.size() != sizeof(Digest) || object.progress == nullptr) return std::nullopt;
  Result<std::optional<Record>> event = ledger_.read(object.progress->event);
  return event ? *std::move(event) : std::nullopt;
}

Result<std::vector<Held>> EmbeddedDesk::find_now(const std::string& id_begins, std::size_t limit) {
  const Result<std::vector<Digest>> ids = ledger_.ids(id_begins, limit);
  if (!ids) return std::unexpected(ids.error());
  std::vector<Held> found;
  for (const Digest& id : *ids) {
    const Result<std::optional<Record>> read = ledger_.read(id);
    if (!read && ids->size() == 1) return std::unexpected(read.error());
    if (!read) continue;
    std::optional<Record> record = *read;
    if (record && record->state == Record::State::object) record = last_event(*record, id_begins);
    if (!record) continue;
    if (std::optional<Held> held = core::step_look(&*record, ledger_.clock().now())) found.push_back(*std::move(held));
  }
  return found;
}

Result<KeyList> EmbeddedDesk::list_now(const KeyFilter& filter, const std::string& cursor) {
  const std::optional<ListPlace> given = from_cursor(cursor);
  if (!given && !cursor.empty()) return fail(Code::invalid, "cursor: it is not one that a list has returned");
  Unsettled unsettled(ledger_.unsettled(), given);
  const std::chrono::nanoseconds until = ledger_.clock().stopwatch() + list_time_max;
  const Time now = ledger_.clock().now();
  KeyList list{.items = {}, .cursor = {}, .searched_to = now};
  for (std::size_t looked = 0;;) {
    const Result<std::vector<ListPlace>> entries = unsettled.next(now);
    if (!entries) return std::unexpected(entries.error());
    if (entries->empty()) return list;
    for (const ListPlace& entry : *entries) {
      if (entry.at + filter.older > now) return list;  // so are all behind it
      const Result<std::optional<Record>> read = ledger_.read(entry.id);
      ++looked;
      if (!read) continue;
      const std::optional<Record>& record = *read;
      std::optional<Held> held = core::step_look(record ? &*record : nullptr, now);
      if (held && filter.takes(*held, now)) list.items.push_back(*std::move(held));
      if (list.items.size() < filter.items_max && looked < looks_max && ledger_.clock().stopwatch() < until) continue;
      return KeyList{.items = std::move(list.items), .cursor = to_cursor(entry), .searched_to = entry.at};
    }
  }
}

}  // namespace semel::store::embedded
