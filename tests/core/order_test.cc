// Whose turn it is among the events of one object: the rule itself, without a store.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "core/transition.h"
#include "core/transition_cases.h"

namespace semel::test {
namespace {

constexpr Millis hour{3'600'000};
constexpr Fence latest_fence{.number = 2, .owner = 77};

Order order(std::string stamp, std::uint64_t company = 0) {
  return {.object = key_of(9), .stamp = std::move(stamp), .company = company};
}

Record grant() {
  return {.key = key_of(1),
          .state = Record::State::running,
          .fence = {.number = 1, .owner = 5},
          .fingerprint = {},
          .claimed_at = now,
          .lease_until = now + hour,
          .expires_at = now + 2 * hour,
          .response = nullptr};
}

// An object that has come to `newest`, whose last grant was of key 2 with stamp "5".
Record object(std::string newest) {
  Record::Progress progress{.newest = std::move(newest), .stamp = "5", .fence = latest_fence, .company = 77};
  progress.event = key_of(2).id;
  Record record = grant();
  record.key = key_of(9);
  record.state = Record::State::object;
  record.fence = {};
  record.progress = std::make_shared<const Record::Progress>(std::move(progress));
  return record;
}

Record latest(Record::State state) {
  Record record = grant();
  record.key = key_of(2);
  record.state = state;
  record.fence = latest_fence;
  if (state == Record::State::done) record.response = answer("done");
  return record;
}

std::string verdict(const core::OrderStep& step) {
  if (!step.refusal) return step.mark ? "turn" : "?";
  return std::holds_alternative<Superseded>(*step.refusal) ? "superseded" : "busy";
}

// The first event of an object has its turn, and the object is remembered for as long as the event.
TEST(OrderStep, TheFirstEventHasItsTurn) {
  const core::OrderStep step = core::step_order(nullptr, nullptr, order("3"), grant(), now);
  ASSERT_EQ(verdict(step), "turn");
  EXPECT_EQ(step.mark->key, key_of(9));
  EXPECT_EQ(step.mark->state, Record::State::object);
  EXPECT_EQ(step.mark->expires_at, grant().expires_at);
  const Record::Progress& progress = *step.mark->progress;
  EXPECT_EQ(progress.newest, "");
  EXPECT_EQ(progress.stamp, "3");
  EXPECT_EQ(progress.event, key_of(1).id);
  EXPECT_EQ(progress.fence, grant().fence);
  EXPECT_EQ(progress.company, grant().fence.owner);
}

// What the last event has come to decides, for every state of it.
TEST(OrderStep, TheLastEventDecides) {
  struct Case {
    std::optional<Record> last;
    const char* older;  // what "4" is told
    const char* equal;  // what "5" is told
  };
  Record lapsed = latest(Record::State::running);
  lapsed.lease_until = now;
  Record expired = latest(Record::State::done);
  expired.expires_at = now;
  Record another = latest(Record::State::done);
  another.fence.owner = 78;
  const Case cases[] = {{latest(Record::State::done), "superseded", "turn"},
                        {latest(Record::State::running), "busy", "busy"},
                        {latest(Record::State::unknown), "turn", "turn"},
                        {latest(Record::State::released), "turn", "turn"},
                        {lapsed, "turn", "turn"},
                        {expired, "turn", "turn"},
                        {another, "turn", "turn"},
                        {std::nullopt, "turn", "turn"}};
  for (const Case& one : cases) {
    const Record mark = object("");
    const Record* const last = one.last ? &*one.last : nullptr;
    EXPECT_EQ(verdict(core::step_order(&mark, last, order("4"), grant(), now)), one.older);
    EXPECT_EQ(verdict(core::step_order(&mark, last, order("5"), grant(), now)), one.equal);
  }
}

// A mark that was reached before counts, whatever the last event has come to; it comes before "busy", and never falls.
TEST(OrderStep, AReachedMarkCounts) {
  const Record mark = object("8");
  for (const Record::State state :
       {Record::State::done, Record::State::running, Record::State::unknown, Record::State::released}) {
    const Record last = latest(state);
    EXPECT_EQ(verdict(core::step_order(&mark, &last, order("7"), grant(), now)), "superseded");
  }
  const Record done = latest(Record::State::done);
  const core::OrderStep step = core::step_order(&mark, &done, order("8"), grant(), now);
  ASSERT_EQ(verdict(step), "turn");
  EXPECT_EQ(step.mark->progress->newest, "8") << "the last event was older than the mark";
}

// The object's record is over at its very millisecond; what the last event says for itself still holds.
TEST(OrderStep, AnExpiredMarkCountsNoMore) {
  Record mark = object("8");
  mark.expires_at = now + tick;
  EXPECT_EQ(verdict(core::step_order(&mark, nullptr, order("7"), grant(), now)), "superseded");
  mark.expires_at = now;
  EXPECT_EQ(verdict(core::step_order(&mark, nullptr, order("7"), grant(), now)), "turn");
  const Record running = latest(Record::State::running);
  EXPECT_EQ(verdict(core::step_order(&mark, &running, order("7"), grant(), now)), "busy");
}

// The record of an object never lives shorter than it did.
TEST(OrderStep, AnObjectLivesAsLongAsItsLongestEvent) {
  Record mark = object("1");
  mark.expires_at = now + 10 * hour;
  EXPECT_EQ(core::step_order(&mark, nullptr, order("2"), grant(), now).mark->expires_at, now + 10 * hour);
}

// Events of one company run beside each other; the newest of them is what the object comes to.
TEST(OrderStep, ACompanyRunsTogether) {
  const Record mark = object("1");
  const Record running = latest(Record::State::running);
  for (const char* stamp : {"3", "7"}) {
    const core::OrderStep step = core::step_order(&mark, &running, order(stamp, 77), grant(), now);
    ASSERT_EQ(verdict(step), "turn");
    EXPECT_EQ(step.mark->progress->stamp, std::string(stamp) < "5" ? "5" : stamp);
    EXPECT_EQ(step.mark->progress->company, 77U);
  }
  EXPECT_EQ(verdict(core::step_order(&mark, &running, order("7", 78), grant(), now)), "busy");
  EXPECT_EQ(verdict(core::step_order(&mark, &running, order("0", 77), grant(), now)), "superseded");
}

}  // namespace
}  // namespace semel::test
