// How items are spread over the store, and come back.
#include "api/work.h"

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include "api/access.h"
#include "api/answer.h"
#include "api/item.h"
#include "api/trouble.h"
#include "core/check.h"
#include "runtime/pause.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::api {
namespace {

namespace asio = boost::asio;

Task<void> work(const Ledgers* ledgers, ApiCall call, ApiJob* job, const std::string* base) {
  const Item& item = job->item;
  if (call == ApiCall::claim) {
    const Fingerprint fingerprint = item.fingerprint.value_or(Fingerprint{});
    const Result<Claim> claimed = co_await ledgers->once.claim(item.key, fingerprint, item.terms, item.wait);
    job->answer = answer_claim(item, claimed, *base);
    const auto* const granted = claimed ? std::get_if<Granted>(&*claimed) : nullptr;
    if (granted != nullptr) job->fence = granted->fence.number;
    co_return;
  }
  if (call == ApiCall::get) {
    const Result<std::optional<Held>> found = co_await ledgers->lookup.look_up(item.key);
    job->answer = answer_look(item, found, *base);
    co_return;
  }
  Result<void> ended;
  if (call == ApiCall::renew) ended = co_await ledgers->store.renew(item.key, item.fence, item.terms.lease);
  if (call == ApiCall::complete) ended = co_await ledgers->store.complete(item.key, item.fence, item.response);
  if (call == ApiCall::release) ended = co_await ledgers->store.release(item.key, item.fence);
  if (call != ApiCall::renew && ended) ledgers->once.ended(item.key);
  job->answer = answer_holder(call, ended, *base);
}

void end_one(Shift& shift) {
  if (--shift.left == 0) shift.over->ring();
}

// `shift` is held as long as this runs.
Task<void> work_one(const Ledgers* ledgers, ApiCall call, std::shared_ptr<Shift> shift, ApiJob* job) {
  co_await work(ledgers, call, job, &shift->base);
  end_one(*shift);
}

// One after the other, the oldest stamp first.
Task<void> work_in_order(const Ledgers* ledgers, ApiCall call, std::shared_ptr<Shift> shift,
                         std::vector<ApiJob*> jobs) {
  std::ranges::sort(jobs, {}, [](const ApiJob* job) -> const std::string& { return job->item.terms.order->stamp; });
  for (ApiJob* const job : jobs) {
    co_await work(ledgers, call, job, &shift->base);
    end_one(*shift);
  }
}

}  // namespace

std::shared_ptr<Shift> make_shift(Clock& clock, std::string base) {
  auto shift = std::make_shared<Shift>();
  shift->base = std::move(base);
  shift->over = std::make_shared<runtime::Pause>(clock);
  return shift;
}

void start(const Ledgers* ledgers, ApiCall call, const std::shared_ptr<Shift>& shift, const Executor& executor) {
  const auto ended = [](const std::exception_ptr& error) {
    core::check(error == nullptr, "an item is answered, whatever happens");
  };
  std::map<Digest, std::vector<ApiJob*>> by_object;
  ++shift->left;  // this function, until all have been started
  for (ApiJob& job : shift->jobs) {
    if (job.answered()) continue;
    ++shift->left;
    if (call == ApiCall::claim && job.item.terms.order != nullptr) {
      by_object[job.item.terms.order->object.id].push_back(&job);
    } else {
      asio::co_spawn(executor, work_one(ledgers, call, shift, &job), ended);
    }
  }
  for (auto& [object, events] : by_object) {
    asio::co_spawn(executor, work_in_order(ledgers, call, shift, std::move(events)), ended);
  }
  end_one(*shift);
}

Millis longest_wait(const Shift& shift) {
  Millis longest{0};
  for (const ApiJob& job : shift.jobs) longest = std::max(longest, job.item.wait);
  return longest;
}

void refuse_unanswered(Shift& shift) {
  const Trouble late = of_store({.code = Code::unavailable, .detail = {}});
  for (ApiJob& job : shift.jobs) {
    if (!job.answered()) job.answer = refused(late, shift.base);
  }
}

}  // namespace semel::api
