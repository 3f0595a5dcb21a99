// What an operator sees and settles.

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/settlement.h"
#include "store/contract.h"
#include "store/desk.h"
#include "support/run.h"
#include <semel/store.h>

namespace semel::test {
namespace {

using Verdict = core::Settlement::Verdict;
using Wanted = store::KeyFilter::Wanted;

// The desk of the store under test, as a test uses it.
class AtTheDesk {
 public:
  AtTheDesk(boost::asio::io_context& context, store::Desk* desk) : context_(context), desk_(desk) {
    if (desk == nullptr) throw std::runtime_error("the store has no desk");
  }

  [[nodiscard]] std::string id_of(const Key& key) const {
    const Digest id = desk_->named(key).id;
    return {reinterpret_cast<const char*>(id.data()), id.size()};
  }

  std::vector<Held> find(const std::string& id_begins) {
    Result<std::vector<Held>> found = run(context_, desk_->find(id_begins, 10));
    if (!found) throw std::runtime_error("it cannot be found: " + found.error().detail);
    return *std::move(found);
  }
  Held see(const Key& key) {
    const std::vector<Held> found = find(id_of(key));
    if (found.size() != 1) throw std::runtime_error("there is no such key");
    return found.front();
  }

  Result<void> settle(const Key& key, Verdict verdict, Fence fence, const std::string& body = "real") {
    core::Settlement by{.fence = fence, .verdict = verdict, .response = nullptr, .act = ++acts_};
    if (verdict == Verdict::done) by.response = answer_of(body);
    return run(context_, desk_->settle(desk_->named(key).id, by));
  }

  // All pages of a list, by ids.
  std::vector<std::string> list(const store::KeyFilter& filter) {
    std::vector<std::string> ids;
    std::string cursor;
    for (int pages = 0; pages < 1'000; ++pages) {
      const Result<store::KeyList> page = run(context_, desk_->list(filter, cursor));
      if (!page) throw std::runtime_error("the list failed: " + page.error().detail);
      for (const Held& held : page->items) {
        const Digest& id = held.record.key.id;
        ids.emplace_back(reinterpret_cast<const char*>(id.data()), id.size());
      }
      if (page->items.size() > filter.items_max) throw std::runtime_error("the page is too long");
      cursor = page->cursor;
      if (cursor.empty()) return ids;
    }
    throw std::runtime_error("the list does not end");
  }

 private:
  boost::asio::io_context& context_;
  store::Desk* desk_;
  static inline std::atomic<std::uint64_t> acts_ = 5'000'000;
};

// A key is found by its whole id and by the beginning of it, in every state; what has expired is gone.
TEST_P(StoreContract, TheDeskSeesAKeyInEveryState) {
  AtTheDesk desk(context_, desk_);
  const Key key = fresh_key();
  EXPECT_TRUE(desk.find(desk.id_of(key)).empty());
  Terms brief_terms = terms();
  brief_terms.lease = brief();
  const Granted granted = take(key, brief_terms);
  const Held running = desk.see(key);
  EXPECT_EQ(running.record.state, Record::State::running);
  EXPECT_EQ(running.record.fence, granted.fence);
  EXPECT_EQ(running.record.fingerprint, fingerprint_of(1));
  EXPECT_EQ(running.record.key.space, key.space);
  EXPECT_EQ(running.record.key.scope, desk_->named(key).scope);
  EXPECT_EQ(running.record.expires_at, granted.expires_at);
  EXPECT_GT(running.lease_left, Millis{0});
  ASSERT_EQ(desk.find(desk.id_of(key).substr(0, 6)).size(), 1U);
  outlast(brief());
  EXPECT_EQ(desk.see(key).record.state, Record::State::unknown);

  const Key done = fresh_key();
  ASSERT_EQ(said(complete(done, take(done).fence, answer_of("one", 202))), "ok");
  const Held seen = desk.see(done);
  EXPECT_EQ(seen.record.state, Record::State::done);
  ASSERT_NE(seen.record.response, nullptr);
  EXPECT_EQ(seen.record.response->body, "one");
  EXPECT_EQ(seen.record.response->status, 202);
  const Key released = fresh_key();
  ASSERT_EQ(said(release(released, take(released).fence)), "ok");
  EXPECT_EQ(desk.see(released).record.state, Record::State::released);

  const Key expired = fresh_key();
  brief_terms = terms();
  brief_terms.ttl = brief();
  ASSERT_EQ(said(complete(expired, take(expired, brief_terms).fence, answer_of("old"))), "ok");
  outlast(brief());
  EXPECT_TRUE(desk.find(desk.id_of(expired)).empty());
}

// The whole id of an object whose events run in order finds the event that had its turn last, in whatever state.
TEST_P(StoreContract, TheDeskFindsTheLastEventOfAnObject) {
  AtTheDesk desk(context_, desk_);
  const auto in_one_home = [&] {
    Key key = fresh_key();
    key.home = 5;
    return key;
  };
  const Key object = in_one_home();
  const auto in_order = [&](const char* stamp) {
    Terms ordered = terms();
    ordered.order = std::make_shared<const Order>(Order{.object = object, .stamp = stamp});
    return ordered;
  };
  EXPECT_TRUE(desk.find(desk.id_of(object)).empty());
  const Key first = in_one_home();
  const Granted granted = take(first, in_order("1"));
  const Held running = desk.see(object);
  EXPECT_EQ(running.record.key.id, desk_->named(first).id);
  EXPECT_EQ(running.record.state, Record::State::running);
  ASSERT_EQ(said(complete(first, granted.fence, answer_of("one"))), "ok");
  const Key second = in_one_home();
  ASSERT_EQ(said(complete(second, take(second, in_order("2")).fence, nullptr)), "ok");
  const Held last = desk.see(object);
  EXPECT_EQ(last.record.key.id, desk_->named(second).id);
  EXPECT_EQ(last.record.state, Record::State::unknown);
  EXPECT_TRUE(desk.find(desk.id_of(object).substr(0, 31)).empty()) << "an object is no key";
}

// An unknown outcome is settled as done: every later caller gets the answer that the operator gave, byte for byte.
TEST_P(StoreContract, AnUnknownKeyIsSettledAsDone) {
  AtTheDesk desk(context_, desk_);
  const Key unknown = fresh_key();
  ASSERT_EQ(said(complete(unknown, take(unknown).fence, nullptr)), "ok");
  const Key lapsed = fresh_key();
  Terms brief_terms = terms();
  brief_terms.lease = brief();
  const Granted lost = take(lapsed, brief_terms);
  EXPECT_EQ(said(desk.settle(lapsed, Verdict::done, lost.fence)), "fenced") << "it runs";
  outlast(brief());
  for (const Key& key : {unknown, lapsed}) {
    const Held before = desk.see(key);
    ASSERT_EQ(said(desk.settle(key, Verdict::done, before.record.fence, std::string("re\0al", 5))), "ok");
    EXPECT_EQ(kept_body(key), std::string("re\0al", 5));
    EXPECT_EQ(look(key).record.fence.number, 1U);
    EXPECT_EQ(said(desk.settle(key, Verdict::done, before.record.fence, "other")), "fenced");
  }
  EXPECT_EQ(said(complete(lapsed, lost.fence, answer_of("late"))), "fenced");
  EXPECT_EQ(said(release(lapsed, lost.fence)), "fenced");
  EXPECT_EQ(said(renew(lapsed, lost.fence)), "fenced");
}

// Settled as not done, the next retry of the same request runs, with the next fence, and no other request does.
TEST_P(StoreContract, AnUnknownKeyIsSettledAsNotDone) {
  AtTheDesk desk(context_, desk_);
  const Key key = fresh_key();
  const Granted first = take(key);
  ASSERT_EQ(said(complete(key, first.fence, nullptr)), "ok");
  ASSERT_EQ(said(desk.settle(key, Verdict::not_done, first.fence)), "ok");
  EXPECT_EQ(desk.see(key).record.state, Record::State::released);
  const Result<Claim> other = claim(key, terms(), fingerprint_of(2));
  ASSERT_TRUE(other);
  EXPECT_TRUE(std::holds_alternative<Held>(*other)) << "the key stays that request's";
  const Granted second = take(key);
  EXPECT_EQ(second.fence.number, first.fence.number + 1);
  ASSERT_EQ(said(complete(key, second.fence, answer_of("two"))), "ok");
  EXPECT_EQ(kept_body(key), "two");
}

// A finished key may be opened again by those who know its fence; a key that runs is never touched.
TEST_P(StoreContract, AFinishedKeyIsOpenedAgainByItsFence) {
  AtTheDesk desk(context_, desk_);
  const Key key = fresh_key();
  const Granted first = take(key);
  for (const Verdict verdict : {Verdict::done, Verdict::not_done, Verdict::reopened}) {
    EXPECT_EQ(said(desk.settle(key, verdict, first.fence)), "fenced") << "it runs";
  }
  ASSERT_EQ(said(complete(key, first.fence, answer_of("one"))), "ok");
  const Fence half{.number = first.fence.number, .owner = first.fence.owner + 1};
  EXPECT_EQ(said(desk.settle(key, Verdict::reopened, half)), "fenced");
  EXPECT_EQ(said(desk.settle(key, Verdict::done, first.fence)), "fenced");
  EXPECT_EQ(said(desk.settle(key, Verdict::not_done, first.fence)), "fenced");
  ASSERT_EQ(said(desk.settle(key, Verdict::reopened, first.fence)), "ok");
  EXPECT_EQ(take(key).fence.number, 2U);
  EXPECT_EQ(said(desk.settle(fresh_key(), Verdict::done, first.fence)), "fenced");
}

// An act that was settled is in force when the store is opened again.
TEST_P(ReopenContract, WhatWasSettledStaysSo) {
  const Key done = fresh_key();
  const Key not_done = fresh_key();
  {
    AtTheDesk desk(context_, desk_);
    for (const Key& key : {done, not_done}) ASSERT_EQ(said(complete(key, take(key).fence, nullptr)), "ok");
    ASSERT_EQ(said(desk.settle(done, Verdict::done, desk.see(done).record.fence)), "ok");
    ASSERT_EQ(said(desk.settle(not_done, Verdict::not_done, desk.see(not_done).record.fence)), "ok");
  }
  reopen();
  EXPECT_EQ(kept_body(done), "real");
  EXPECT_EQ(take(not_done).fence.number, 2U);
}

// Lists show what needs somebody and nothing else, each key once, and go on where they ended.
TEST_P(StoreContract, ListsShowWhatNeedsSomebody) {
  AtTheDesk desk(context_, desk_);
  std::set<std::string> unknown;
  std::set<std::string> running;
  Terms brief_terms = terms();
  brief_terms.lease = brief();
  for (int i = 0; i < 20; ++i) {
    const Key key = fresh_key();
    if (i % 4 == 0) take(key, brief_terms);
    if (i % 4 == 0) unknown.insert(desk.id_of(key));
    if (i % 4 == 1) ASSERT_EQ(said(complete(key, take(key).fence, nullptr)), "ok");
    if (i % 4 == 1) unknown.insert(desk.id_of(key));
    if (i % 4 == 2) ASSERT_EQ(said(complete(key, take(key).fence, answer_of("one"))), "ok");
    if (i % 4 == 3) take(key);
    if (i % 4 == 3) running.insert(desk.id_of(key));
  }
  outlast(brief());
  for (const std::size_t items_max : {std::size_t{100}, std::size_t{3}, std::size_t{1}}) {
    store::KeyFilter filter;
    filter.items_max = items_max;
    std::vector<std::string> listed = desk.list(filter);
    EXPECT_EQ(std::set(listed.begin(), listed.end()), unknown);
    EXPECT_EQ(listed.size(), unknown.size()) << "each once";
    filter.wanted = Wanted::running;
    listed = desk.list(filter);
    EXPECT_EQ(std::set(listed.begin(), listed.end()), running);
    EXPECT_EQ(listed.size(), running.size()) << "each once";
  }
}

// Filters: by namespace, scope and age. A settled key is no longer listed, and a key that is taken over is running.
TEST_P(StoreContract, ListsAreFiltered) {
  AtTheDesk desk(context_, desk_);
  const Key old = fresh_key();
  ASSERT_EQ(said(complete(old, take(old).fence, nullptr)), "ok");
  outlast(brief());
  Key young = fresh_key();
  young.space = "other";
  ASSERT_EQ(said(complete(young, take(young).fence, nullptr)), "ok");
  using Ids = std::vector<std::string>;
  EXPECT_EQ(desk.list({}), (Ids{desk.id_of(old), desk.id_of(young)})) << "the oldest first";
  store::KeyFilter by_space;
  by_space.space = "other";
  EXPECT_EQ(desk.list(by_space), Ids{desk.id_of(young)});
  store::KeyFilter by_scope;
  by_scope.scope = desk_->named(old).scope;
  EXPECT_EQ(desk.list(by_scope), Ids{desk.id_of(old)});
  store::KeyFilter by_age;
  by_age.older = brief();
  EXPECT_EQ(desk.list(by_age), Ids{desk.id_of(old)});
  by_age.older = ample;
  EXPECT_EQ(desk.list(by_age), Ids{});
  ASSERT_EQ(said(desk.settle(old, Verdict::done, desk.see(old).record.fence)), "ok");
  EXPECT_EQ(desk.list({}), Ids{desk.id_of(young)});
  take(young, terms(Terms::Lapsed::taken_over));
  EXPECT_EQ(desk.list({}), Ids{});
  store::KeyFilter by_state;
  by_state.wanted = Wanted::running;
  EXPECT_EQ(desk.list(by_state), Ids{desk.id_of(young)});
}

// Of several operators and retries that take over, exactly one has the key.
TEST_P(StoreContract, OneOfManyActsSettlesAKey) {
  constexpr std::size_t threads = 4;
  constexpr std::size_t rounds = 10;
  std::vector<Key> keys;
  std::vector<Granted> grants;
  for (std::size_t round = 0; round < rounds; ++round) {
    keys.push_back(fresh_key());
    grants.push_back(take(keys.back()));
    ASSERT_EQ(said(complete(keys.back(), grants.back().fence, nullptr)), "ok");
  }
  std::vector<std::atomic<int>> won(rounds);
  StartLine line(threads);
  crew_.run(threads, [&](std::size_t thread, boost::asio::io_context& context) {
    for (std::size_t round = 0; round < rounds; ++round) {
      const Key& key = keys[round];
      core::Settlement by{
          .fence = grants[round].fence, .verdict = Verdict::done, .response = {}, .act = 7'000'000 + thread};
      by.response = answer_of(std::to_string(thread));
      line.wait();
      if (thread == 3) {
        const Result<Claim> taken =
            run(context, store_->claim(key, fingerprint_of(1), terms(Terms::Lapsed::taken_over)));
        if (taken && std::holds_alternative<Granted>(*taken)) ++won[round];
      } else if (run(context, desk_->settle(desk_->named(key).id, by))) {
        ++won[round];
      }
    }
  });
  for (const std::atomic<int>& one : won) EXPECT_EQ(one, 1);
}

}  // namespace
}  // namespace semel::test
