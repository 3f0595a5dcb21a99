// The contract by way of a network that loses requests, answers and time: whoever repeats what was not answered, with
// the same owner and the same fence, neither runs a key twice nor loses its answer.

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "runtime/pause.h"
#include "store/contract.h"
#include "store/crew.h"
#include "support/faulty_store.h"

namespace semel::test {
namespace {

constexpr std::size_t key_count = 8;
constexpr std::size_t callers_per_key = 6;
constexpr Millis before_repeating{5};
constexpr int tries_max = 2'000;

struct Story {
  Key key;
  int effects = 0;
  std::set<std::string> answers{};  // as heard by anybody
  std::size_t heard = 0;
};

// Time is waited for: the faults of stores whose time is turned are in faulty_protocol_test.cc.
class FaultyContract : public StoreContract {};

Task<void> end(Clock* clock, Store* store, Story* story, Fence fence) {
  const Key key = story->key;
  const SharedResponse response = answer_of(std::to_string(fence.owner));
  for (int tries = 0; tries < tries_max; ++tries) {
    const Result<void> ended = co_await store->complete(key, fence, response);
    if (ended) co_return;
    if (ended.error().code == Code::fenced) throw std::runtime_error("the holder was fenced");
    co_await runtime::sleep(*clock, before_repeating);
  }
  throw std::runtime_error("the end was never acknowledged");
}

Task<void> want_answer(Clock* clock, Store* store, Story* story, std::uint64_t owner) {
  const Key key = story->key;
  const Fingerprint fingerprint = fingerprint_of(1);
  Terms terms;
  terms.lease = ample;
  terms.ttl = ample;
  terms.owner = owner;
  for (int tries = 0; tries < tries_max; ++tries) {
    const Result<Claim> claim = co_await store->claim(key, fingerprint, terms);
    const auto* granted = claim ? std::get_if<Granted>(&*claim) : nullptr;
    const auto* held = claim ? std::get_if<Held>(&*claim) : nullptr;
    if (granted != nullptr) {
      const Fence fence = granted->fence;
      ++story->effects;
      co_await end(clock, store, story, fence);
      terms.owner += 1'000'000;  // from now on somebody else, who hears what all the others hear
    } else if (held != nullptr && held->record.state == Record::State::done) {
      story->answers.insert(held->record.response->body);
      ++story->heard;
      co_return;
    }
    co_await runtime::sleep(*clock, before_repeating);
  }
  throw std::runtime_error("no answer was ever heard");
}

// Half of all calls are lost, doubled or late: one effect per key, and everybody hears the same answer.
TEST_P(FaultyContract, EffectHappensOnceAndAllHearTheSameAnswer) {
  const FaultWeights weights{.of = {12, 2, 1, 1, 3, 3, 3}, .delay_max = Millis{20}};
  FaultyStore faulty(*store_, *real_clock_, faults_by_seed(4'711, weights));
  std::array<Story, key_count> stories;
  std::uint64_t owner = 1;
  for (Story& story : stories) {
    story.key = fresh_key();
    for (std::size_t i = 0; i < callers_per_key; ++i) {
      start(context_, want_answer(real_clock_.get(), &faulty, &story, ++owner));
    }
  }
  context_.restart();
  context_.run();  // to the last late call
  for (const Story& story : stories) {
    EXPECT_EQ(story.effects, 1);
    EXPECT_EQ(story.answers.size(), 1U);
    EXPECT_EQ(story.heard, callers_per_key);
  }
  EXPECT_GT(faulty.count(FaultKind::answer_lost) + faulty.count(FaultKind::late), 20U);
}

INSTANTIATE_TEST_SUITE_P(Stores, FaultyContract, testing::ValuesIn(backends_with(Timing::real)),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace semel::test
