// The committer: nobody hears of anything that is not on disk yet.

#include "store/embedded/committer.h"

#include <memory>
#include <semaphore>
#include <span>
#include <utility>
#include <variant>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "store/embedded/fake_ledger.h"
#include "support/virtual_clock.h"

namespace semel::test {
namespace {

// A ledger whose commit stands still until the test lets it go on.
class StandingLedger : public FakeLedger {
 public:
  Result<void> commit(std::span<const store::embedded::Change> changes) override {
    begun.release();
    go_on.acquire();
    return FakeLedger::commit(changes);
  }

  std::binary_semaphore begun{0};
  std::binary_semaphore go_on{0};
};

Task<void> claim(store::embedded::Committer* committer, std::shared_ptr<store::StoreCall> call) {
  co_await committer->submit(*call);
}

// A claim is answered only after the commit has returned, however long the disk takes (G2).
TEST(Committer, AnswersNobodyBeforeTheCommitHasReturned) {
  StandingLedger ledger;
  store::embedded::RecentWrites recent;
  VirtualClock clock;
  const store::embedded::StoreClock store_clock(clock);
  boost::asio::io_context context(1);
  store::embedded::Committer committer(ledger, recent, store_clock);

  const auto call = std::make_shared<store::StoreCall>();
  call->key.id[0] = 1;
  call->request.emplace<store::ClaimCall>().terms.owner = 7;
  bool answered = false;
  boost::asio::co_spawn(context.get_executor(), claim(&committer, call),
                        [&](const std::exception_ptr&) { answered = true; });
  context.poll();
  ledger.begun.acquire();
  context.poll();
  EXPECT_FALSE(answered);

  ledger.go_on.release();
  context.run();
  EXPECT_TRUE(answered);
  const auto& answer = std::get<store::ClaimCall>(call->request).answer;
  ASSERT_TRUE(answer.has_value());
  EXPECT_TRUE(std::holds_alternative<Granted>(*answer));
}

}  // namespace
}  // namespace semel::test
