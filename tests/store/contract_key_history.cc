// Many threads, many keys, random calls: what each key went through must be a history that the contract allows.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include "store/contract.h"
#include "store/key_history.h"

namespace semel::test {
namespace {

// One key, the fences that were handed out for it, and what happened to it.
struct Subject {
  Key key;
  std::mutex mutex;
  std::vector<Fence> fences;
  std::vector<Event> history;
};

struct Play {
  Store* store = nullptr;
  std::vector<Subject>* subjects = nullptr;
  std::uint64_t calls_max = 0;
  std::atomic<std::uint64_t> calls = 0;
  std::atomic<std::uint64_t> ticks = 0;
};

Reply reply_of(const Held& held) {
  switch (held.record.state) {
    case Record::State::running:
      return Reply::held_running;
    case Record::State::done:
      return Reply::held_done;
    case Record::State::unknown:
      return Reply::held_unknown;
    default:
      throw std::runtime_error("a released record is never reported");
  }
}

// One that was granted for this key, by anybody; now and then one that never was.
Fence some_fence(Subject& subject, std::mt19937_64& random) {
  const std::scoped_lock lock(subject.mutex);
  if (subject.fences.empty() || random() % 16 == 0) return {.number = 1 + (random() % 3), .owner = random()};
  const std::size_t back = std::min<std::size_t>(random() % 3, subject.fences.size() - 1);
  return subject.fences[subject.fences.size() - 1 - back];
}

Task<void> claim_once(Play* play, Subject* subject, Event* event, std::uint64_t owner) {
  Terms terms;
  terms.lease = ample;
  terms.owner = owner;
  terms.lapsed = event->deed == Deed::claim_over ? Terms::Lapsed::taken_over : Terms::Lapsed::stands;
  const Key key = subject->key;
  const Fingerprint fingerprint = fingerprint_of(1);
  const Result<Claim> claim = co_await play->store->claim(key, fingerprint, terms);
  if (!claim) throw std::runtime_error("the claim failed: " + claim.error().detail);
  if (const auto* granted = std::get_if<Granted>(&*claim)) {
    event->reply = Reply::granted;
    event->fence = granted->fence;
    co_return;
  }
  const Held& held = std::get<Held>(*claim);
  event->reply = reply_of(held);
  event->fence = held.record.fence;
  if (held.record.response != nullptr) event->tag = std::stoull(held.record.response->body);
}

Task<void> act_once(Play* play, Subject* subject, Event* event) {
  const Key key = subject->key;
  const Fence fence = event->fence;
  Result<void> result;
  switch (event->deed) {
    case Deed::renew:
      result = co_await play->store->renew(key, fence, ample);
      break;
    case Deed::release:
      result = co_await play->store->release(key, fence);
      break;
    default: {
      const SharedResponse response = event->deed == Deed::complete ? answer_of(std::to_string(event->tag)) : nullptr;
      result = co_await play->store->complete(key, fence, response);
    }
  }
  if (!result && result.error().code != Code::fenced) throw std::runtime_error(result.error().detail);
  event->reply = result ? Reply::ok : Reply::fenced;
}

Deed some_deed(std::mt19937_64& random) {
  using enum Deed;
  constexpr std::array deeds{claim, claim,   claim,   claim_over, claim_over, claim_over,       renew,
                             renew, release, release, release,    complete,   complete_unknown, complete_unknown};
  return deeds.at(random() % deeds.size());
}

// Plays on a window of a few keys that moves along, so that keys meet many callers, end, and are left behind.
Task<void> play_on(Play* play, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Executor executor = co_await boost::asio::this_coro::executor;
  const boost::asio::use_awaitable_t<Executor> token;
  for (;;) {
    const std::uint64_t call = play->calls.fetch_add(1);
    if (call >= play->calls_max) co_return;
    const std::size_t window = 6;
    const std::size_t at = (call * (play->subjects->size() - window) / play->calls_max) + (random() % window);
    Subject& subject = (*play->subjects)[at];
    Event event;
    event.deed = some_deed(random);
    event.tag = event.deed == Deed::complete ? call : 0;
    event.fence = some_fence(subject, random);
    co_await boost::asio::post(executor, token);
    event.begun = play->ticks.fetch_add(1);
    if (event.deed == Deed::claim || event.deed == Deed::claim_over) {
      co_await claim_once(play, &subject, &event, random() | 1U);
    } else {
      co_await act_once(play, &subject, &event);
    }
    event.ended = play->ticks.fetch_add(1);
    const std::scoped_lock lock(subject.mutex);
    if (event.reply == Reply::granted) subject.fences.push_back(event.fence);
    subject.history.push_back(event);
  }
}

// 40,000 random calls on 400 keys, from 64 callers on four threads: no answer that the contract does not allow.
TEST_P(StoreContract, RandomHistoriesAreFaithful) {
  std::vector<Subject> subjects(400);
  for (Subject& subject : subjects) subject.key = fresh_key();
  Play play;
  play.store = store_.get();
  play.subjects = &subjects;
  play.calls_max = 40'000;

  crew_.run(4, [&](std::size_t thread, boost::asio::io_context& context) {
    for (std::size_t lane = 0; lane < 16; ++lane) start(context, play_on(&play, (thread * 100) + lane));
    context.run();
  });

  std::array<std::size_t, 6> replies{};
  for (const Subject& subject : subjects) {
    for (const std::string& fault : faults(subject.history)) ADD_FAILURE() << fault;
    for (const Event& event : subject.history) ++replies.at(static_cast<std::size_t>(event.reply));
  }
  for (const std::size_t count : replies) EXPECT_GT(count, 200U);  // every answer there is has been met
  for (std::size_t i = 0; i < replies.size(); ++i) {
    RecordProperty("replies_" + std::to_string(i), std::to_string(replies.at(i)));
  }
}

}  // namespace
}  // namespace semel::test
