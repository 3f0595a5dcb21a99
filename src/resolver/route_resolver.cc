// One round: look, ask, write down, settle. All of it runs on the thread of the resolvers.
#include "resolver/route_resolver.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/config.h"
#include "core/settlement.h"
#include "gateway/logged_act.h"
#include "policy/route.h"
#include "resolver/at_once.h"
#include "resolver/docket.h"
#include "resolver/ruling.h"
#include "resolver/source.h"
#include "resolver/suggestion.h"
#include "store/desk.h"
#include "store/history.h"
#include "store/reminder.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::resolver {
namespace {

constexpr std::size_t items_max = 1'000;
constexpr int lists_max = 20;  // of a round
constexpr std::size_t settled_at_once = 32;
constexpr std::size_t reminders_max = 100;  // of one key
constexpr auto relaxed = std::memory_order_relaxed;

std::string bytes_of(const Digest& id) {
  return {id.begin(), id.end()};
}

bool decides(const ResolverRuling& ruling) {
  return ruling.kind == RulingKind::done || ruling.kind == RulingKind::not_done;
}

}  // namespace

RouteResolver::RouteResolver(const ResolverParts& parts, const config::ResolverConfig& config,
                             const policy::Route& route, std::unique_ptr<Source> source)
    : parts_(parts),
      route_(route.path.text),
      space_(route.space),
      every_(config.every),
      decide_(config.decide),
      source_(std::move(source)),
      docket_({.certain_after = config.certain_after, .kept_for = config.kept_for}, config.every) {}

Task<void> RouteResolver::round(RouteResolver* self) {
  co_await look(self);
  const std::vector<DocketEntry*> due = self->docket_.due(self->parts_.clock.now());
  const std::size_t most = self->source_->questions_max();
  for (std::size_t from = 0; from < due.size(); from += most) {
    const std::size_t size = std::min(most, due.size() - from);
    std::vector<DocketEntry*> some(due.begin() + static_cast<std::ptrdiff_t>(from),
                                   due.begin() + static_cast<std::ptrdiff_t>(from + size));
    const bool answered = co_await ask(self, std::move(some));
    if (!answered) break;  // the rest is asked in the next round
  }
  self->counts_.watched.store(self->docket_.watched(), relaxed);
  self->counts_.persons.store(self->docket_.count(RulingKind::person), relaxed);
}

// From where the last round ended. A pass that has come to its end begins anew.
Task<void> RouteResolver::look(RouteResolver* self) {
  for (int lists = 0; lists < lists_max; ++lists) {
    store::KeyFilter filter;
    filter.space = self->space_;
    filter.items_max = items_max;
    const Result<store::KeyList> list = co_await self->parts_.books.desk.list(std::move(filter), self->cursor_);
    if (!list) {
      self->cursor_.clear();
      co_return;
    }
    for (const Held& held : list->items) {
      const Docket::Meeting meeting = self->docket_.meet(held, self->parts_.clock.now());
      if (meeting.first) co_await prepare(self, meeting.entry);
      if (meeting.entry != nullptr && meeting.entry->question.key.empty()) ++self->unaskable_;
    }
    self->cursor_ = list->cursor;
    if (!self->cursor_.empty()) continue;
    self->docket_.end_pass();
    self->counts_.unaskable.store(std::exchange(self->unaskable_, 0), relaxed);
    co_return;
  }
}

// The question, from what the gateway noted before the request went out; and how far others have come with it.
Task<void> RouteResolver::prepare(RouteResolver* self, DocketEntry* entry) {
  const Record record = entry->held.record;
  store::History& history = *self->parts_.books.history;
  const std::chrono::days clocks_differ{1};
  const store::HistorySpan span{.from = record.claimed_at - clocks_differ,
                                .to = self->parts_.books.now() + clocks_differ};
  std::string subject = bytes_of(record.key.id);
  const Result<std::vector<store::HistoryRow>> rows =
      co_await history.read(store::HistoryKind::reminder, std::move(subject), span, reminders_max);
  if (!rows || rows->empty()) co_return;
  const std::optional<store::Reminder> reminder = store::reminder_in(rows->back());
  if (!reminder) co_return;
  entry->question = {.id = record.key.id, .key = reminder->key, .target = reminder->target};
  entry->askable = reminder->route == self->route_;
  if (!entry->askable) co_return;
  const Result<std::optional<Suggestion>> before = co_await find_suggestion(&history, record);
  if (!before) co_return;
  const std::optional<Suggestion>& known = *before;
  if (known) self->docket_.take_up(*entry, known->watched, known->seen, known->asks);
}

// One that breaks down over every question counts as one that cannot be reached.
void RouteResolver::count(std::span<const Testimony> said) {
  const auto answers = [](const Testimony& each) {
    return each.said != SourceSaid::nothing && each.said != SourceSaid::failed;
  };
  const auto lost = std::ranges::count_if(said, std::not_fn(answers));
  const auto silent = std::ranges::find(said, SourceSaid::nothing, &Testimony::said);
  const auto answer = std::ranges::find_if(said, answers);
  const bool reached = silent == said.end() && answer != said.end();
  counts_.asked.fetch_add(said.size(), relaxed);
  counts_.unanswered.fetch_add(static_cast<std::uint64_t>(lost), relaxed);
  if (reached) counts_.lag_ms.store(answer->lag.count(), relaxed);
  if (counts_.reached.exchange(reached, relaxed) == reached) return;
  const Testimony& why = silent == said.end() ? said.front() : *silent;
  parts_.say(reached ? fmt::format("resolver of {}: its source can be asked again", route_)
                     : fmt::format("resolver of {}: its source cannot be asked: {}", route_, why.detail));
}

// False if the source could not be reached.
Task<bool> RouteResolver::ask(RouteResolver* self, std::vector<DocketEntry*> entries) {
  std::vector<KeyQuestion> questions;
  questions.reserve(entries.size());
  for (const DocketEntry* entry : entries) questions.push_back(entry->question);
  const Time asked = self->parts_.clock.now();
  const std::vector<Testimony> said = co_await self->source_->ask(std::move(questions));
  self->count(said);
  const std::vector<RuledEntry> heard = self->docket_.hear(entries, said, asked);
  co_await write_down(self, &heard, self->parts_.books.now());
  if (self->decide_ == config::ResolverDecides::apply) {
    std::vector<const RuledEntry*> decided;
    for (const RuledEntry& each : heard) {
      if (decides(each.ruling)) decided.push_back(&each);
    }
    const auto one = [self, &decided](std::size_t at) { return settle(self, decided[at]); };
    co_await at_once(&self->parts_.clock, decided.size(), settled_at_once, one);
  }
  co_return std::ranges::any_of(heard, &RuledEntry::answered);
}

// A source that cannot be asked changes nothing, and so not what was thought before.
Task<void> RouteResolver::write_down(RouteResolver* self, const std::vector<RuledEntry>* heard, Time asked) {
  std::vector<store::HistoryRow> rows;
  for (const RuledEntry& each : *heard) {
    const DocketEntry& entry = *each.entry;
    const ResolverRuling& ruling = each.ruling;
    if (!each.answered) continue;
    if (decides(ruling)) self->counts_.suggested.fetch_add(1, relaxed);
    const Suggestion suggestion{.ruling = ruling.kind,
                                .why = ruling.why,
                                .route = self->route_,
                                .node = self->parts_.node,
                                .asked_at = asked,
                                .asks = entry.watch.asks(),
                                .watched = entry.watch.watched(),
                                .seen = entry.watch.seen(),
                                .answer = ruling.response};
    rows.push_back(to_row(suggestion, entry.held.record));
  }
  // What cannot be written is written after the next question.
  if (!rows.empty()) static_cast<void>(co_await self->parts_.books.history->append(std::move(rows)));
}

// The key is looked at once more: if another gateway was quicker, nothing needs to be logged.
Task<void> RouteResolver::settle(RouteResolver* self, const RuledEntry* heard) {
  const Record judged = heard->entry->held.record;
  const gateway::ActBooks& books = self->parts_.books;
  std::string id = bytes_of(judged.key.id);
  const Result<std::vector<Held>> found = co_await books.desk.find(std::move(id), 1);
  if (!found || found->empty()) co_return;
  const Record& record = found->front().record;
  if (record.state != Record::State::unknown || record.fence != judged.fence) co_return;
  const bool done = heard->ruling.kind == RulingKind::done;
  gateway::LoggedAct act{
      .what = done ? "resolve as done" : "resolve as not-done",
      .reason = heard->ruling.why,
      .actor = {.name = "resolver of " + self->route_,
                .role = "resolver",
                .known_by = "configuration",
                .from = self->parts_.node},
      .settlement = {.fence = judged.fence,
                     .verdict = done ? core::Settlement::Verdict::done : core::Settlement::Verdict::not_done,
                     .response = heard->ruling.response,
                     .act = gateway::random_act()}};
  const gateway::ActEnd end = co_await gateway::settle_logged(&books, found->front(), std::move(act));
  ResolverCounts& counts = self->counts_;
  std::atomic<std::uint64_t>& counter = !end.settled ? counts.refused : done ? counts.done : counts.not_done;
  counter.fetch_add(1, relaxed);
  if (end.settled) self->docket_.drop(judged.key.id);
}

}  // namespace semel::resolver
