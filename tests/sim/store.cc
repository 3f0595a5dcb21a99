// Letters, their queue and their batches; then the Port, which is what once() knows of all this.
#include "sim/store.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "core/transition.h"

namespace semel::sim {
namespace asio = boost::asio;

namespace {

constexpr Millis latency_max{3};
constexpr Millis commit_max{4};
constexpr Millis slow_max{900};  // longer than any lease
constexpr Millis time_out_min{20};
constexpr Millis time_out_max{250};

std::unexpected<Error> no_answer() {
  return fail(Code::unavailable, "no answer from the store");
}

}  // namespace

// ---- server ---------------------------------------------------------------------------------------------------------

StoreServer::StoreServer(World& world, SimLedger& ledger, Oracle& oracle)
    : world_(world), ledger_(ledger), oracle_(oracle) {
  if (world.setup.recent_writes) recent_ = std::make_unique<store::embedded::RecentWrites>();
  ledger.judged_by([this] { return deeds(); });
}

void StoreServer::post(std::shared_ptr<Letter> letter) {
  if (world_.setup.embedded) return arrive(letter);
  const Faults& faults = world_.setup.faults;
  if (world_.strikes(faults.letter_lost)) {
    time_out(letter);
    return;
  }
  Millis delay = world_.random.up_to(latency_max);
  if (world_.strikes(faults.letter_late)) {
    time_out(letter);
    delay = world_.random.millis(time_out_min, slow_max);
    world_.disturb(delay);
  }
  world_.after(delay, [this, letter] { arrive(letter); });
}

void StoreServer::time_out(const std::shared_ptr<Letter>& letter) {
  ++world_.stats.letter_faults;
  const Millis patience = world_.random.millis(time_out_min, time_out_max);
  world_.disturb(patience);
  world_.after(patience, [this, letter] { answer(letter, true); });
}

void StoreServer::arrive(const std::shared_ptr<Letter>& letter) {
  if (up_) {
    queue_.push_back(letter);
  } else {
    world_.disturb();
    answer(letter, true);
  }
}

// A claim that comes so late that the key may have expired since would bring a fence back to life that is long over:
// the network is taken to forget it first.
void StoreServer::forget_stale() {
  std::erase_if(queue_, [&](const auto& letter) {
    const auto* claim = std::get_if<store::ClaimCall>(&letter->call.request);
    return claim != nullptr && letter->answered && world_.now() - letter->sent_at >= claim->terms.ttl;
  });
}

// Takes some of the calls that wait, from the front; the first of them is judging_[what is returned]. At least half of
// them, so that nobody waits for long.
std::size_t StoreServer::take() {
  const std::size_t first = judging_.size();
  const std::size_t count = queue_.size() - world_.random.below(queue_.size() / 2 + 1);
  const auto last = queue_.begin() + static_cast<std::ptrdiff_t>(count);
  for (auto letter = queue_.begin(); letter != last; ++letter) {
    (*letter)->deed.at = world_.now();
    judging_.push_back(*letter);
  }
  queue_.erase(queue_.begin(), last);
  return first;
}

Deeds StoreServer::deeds() {
  Deeds deeds;
  for (const auto& letter : judging_) {
    judge_said(letter->deed, letter->call);
    deeds.push_back(letter->deed);
  }
  return deeds;
}

void StoreServer::step() {
  forget_stale();
  if (queue_.empty()) return;
  const std::size_t first = take();
  if (open_ == nullptr && world_.random.chance(5'000)) {
    ++world_.stats.batches;
    std::vector<store::embedded::BatchCall> calls;
    for (const auto& letter : judging_) calls.push_back({.call = &letter->call, .absent_at = letter->absent_at});
    store::embedded::run_batch(calls, ledger_, world_.now(), [this] { acknowledge(); }, recent_.get());
    if (ledger_.crashed()) crash_();
    return;
  }
  if (open_ == nullptr) {
    open_ = std::make_unique<store::embedded::Batch>(ledger_, recent_.get());
    world_.after(world_.random.up_to(commit_max), [this, run = run_] {
      if (run == run_) commit();
    });
  }
  for (std::size_t i = first; i < judging_.size(); ++i) {
    open_->judge({.call = &judging_[i]->call, .absent_at = judging_[i]->absent_at}, world_.now());
  }
}

void StoreServer::commit() {
  ++world_.stats.batches;
  open_->commit();
  open_.reset();
  acknowledge();
  if (ledger_.crashed()) crash_();
}

void StoreServer::acknowledge() {
  if (ledger_.crashed()) return;
  for (const auto& letter : judging_) {
    judge_said(letter->deed, letter->call);
    if (!letter->answered) oracle_.acknowledged(letter->deed);
  }
  Millis taken = world_.random.up_to(commit_max);
  if (world_.strikes(world_.setup.faults.commit_slow)) {
    ++world_.stats.commit_faults;
    taken = world_.random.millis(commit_max, slow_max);
    world_.disturb(taken);
  }
  busy_ = true;
  world_.after(taken, [this, run = run_] {
    if (run != run_) return;
    busy_ = false;
    for (const auto& letter : std::exchange(judging_, {})) reply(letter);
  });
}

void StoreServer::reply(const std::shared_ptr<Letter>& letter) {
  if (world_.setup.embedded) return answer(letter, false);
  const Faults& faults = world_.setup.faults;
  if (world_.strikes(faults.answer_lost)) {
    time_out(letter);
    return;
  }
  Millis delay = world_.random.up_to(latency_max);
  if (world_.strikes(faults.answer_late)) {
    ++world_.stats.letter_faults;
    delay = world_.random.millis(latency_max, slow_max);
    world_.disturb(delay);
  }
  world_.after(delay, [this, letter] { answer(letter, false); });
}

void StoreServer::answer(const std::shared_ptr<Letter>& letter, bool lost) {
  if (letter->answered) return;
  letter->answered = true;
  letter->lost = lost;
  if (const auto* claim = std::get_if<store::ClaimCall>(&letter->call.request); claim != nullptr && !lost) {
    oracle_.hears(claim->terms.owner, claim->answer);
  }
  asio::post(letter->executor, std::exchange(letter->resume, nullptr));
}

void StoreServer::stop() {
  up_ = false;
  busy_ = false;
  open_.reset();
  ++run_;
  world_.disturb();
  for (const auto& letter : std::exchange(judging_, {})) time_out(letter);
  for (const auto& letter : std::exchange(queue_, {})) time_out(letter);
}

void StoreServer::start() {
  ledger_.restart();
  if (recent_ != nullptr) recent_ = std::make_unique<store::embedded::RecentWrites>();
  up_ = true;
  world_.disturb();
}

bool StoreServer::settled(const Key& key, store::ClaimCall& request, std::optional<std::uint64_t>& absent_at) {
  const std::uint64_t version = recent_ == nullptr ? 0 : recent_->version();
  Result<std::optional<Record>> stored = ledger_.read(key.id);
  if (!stored) {
    request.answer = std::unexpected(stored.error());
    return true;
  }
  if (!*stored) {
    if (recent_ != nullptr) absent_at = version;
    return false;
  }
  const Record& record = **stored;
  if (record.state == Record::State::running && world_.now() >= record.lease_until) return false;
  core::ClaimStep step = core::step_claim(&record, key, request.fingerprint, request.terms, world_.now());
  if (!step.store) request.answer = std::move(step.answer);
  return !step.store;
}

// ---- port -----------------------------------------------------------------------------------------------------------

Port::Port(World& world, StoreServer& server, Oracle& oracle, std::uint64_t process)
    : world_(world), server_(server), oracle_(oracle), process_(process) {}

Task<std::shared_ptr<Letter>> Port::send(store::StoreCall call, std::optional<std::uint64_t> absent_at) {
  const Deed deed = deed_of(call);
  const Executor executor = co_await asio::this_coro::executor;
  const auto letter = std::make_shared<Letter>(Letter{.call = std::move(call),
                                                      .absent_at = absent_at,
                                                      .deed = deed,
                                                      .sent_at = world_.now(),
                                                      .executor = executor,
                                                      .resume = {}});
  auto suspend = [this, letter](auto handler) {
    letter->resume = std::move(handler);
    std::erase_if(open_, [](const auto& one) { return one.expired(); });
    open_.push_back(letter);
    if (dead_) {
      server_.answer(letter, true);
    } else {
      server_.post(letter);
    }
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<Executor>&, void()>(std::move(suspend),
                                                                                asio::use_awaitable_t<Executor>());
  co_return letter;
}

void Port::hang_up() {
  dead_ = true;
  for (const auto& one : open_) {
    if (const auto letter = one.lock()) server_.answer(letter, true);
  }
}

Async<Claim> Port::claim(Key key, Fingerprint fingerprint, Terms terms) {
  if (!dead_) {
    world_.note(world_.index_of(key.id), process_, "asks to claim", {}, terms.owner % 10'000);
    oracle_.asks(terms.owner, std::exchange(visit_, nullptr));
  }
  store::StoreCall call{.key = std::move(key), .request = store::ClaimCall{.fingerprint = fingerprint, .terms = terms}};
  auto& request = std::get<store::ClaimCall>(call.request);
  std::optional<std::uint64_t> absent_at;
  if (world_.setup.embedded && !dead_ && server_.up() && server_.settled(call.key, request, absent_at)) {
    oracle_.hears(terms.owner, request.answer);
    co_return std::move(request.answer);
  }
  const std::shared_ptr<Letter> letter = co_await send(std::move(call), absent_at);
  if (letter->lost) co_return no_answer();
  co_return std::get<store::ClaimCall>(letter->call.request).answer;
}

Async<void> Port::renew(Key key, Fence fence, Millis lease) {
  ++world_.stats.renewals;
  store::StoreCall call{.key = std::move(key), .request = store::RenewCall{.fence = fence, .lease = lease}};
  const std::shared_ptr<Letter> letter = co_await send(std::move(call));
  if (letter->lost) co_return no_answer();
  co_return std::get<store::RenewCall>(letter->call.request).answer;
}

Async<void> Port::complete(Key key, Fence fence, SharedResponse response) {
  store::StoreCall call{.key = std::move(key),
                        .request = store::CompleteCall{.fence = fence, .response = std::move(response)}};
  const std::shared_ptr<Letter> letter = co_await send(std::move(call));
  if (letter->lost) co_return no_answer();
  co_return std::get<store::CompleteCall>(letter->call.request).answer;
}

Async<void> Port::release(Key key, Fence fence) {
  store::StoreCall call{.key = std::move(key), .request = store::ReleaseCall{.fence = fence}};
  const std::shared_ptr<Letter> letter = co_await send(std::move(call));
  if (letter->lost) co_return no_answer();
  co_return std::get<store::ReleaseCall>(letter->call.request).answer;
}

Async<std::size_t> Port::sweep(std::size_t limit) {
  ++world_.stats.sweeps;
  store::StoreCall call{.key = {}, .request = store::SweepCall{.limit = limit}};
  const std::shared_ptr<Letter> letter = co_await send(std::move(call));
  if (letter->lost) co_return no_answer();
  co_return std::get<store::SweepCall>(letter->call.request).answer;
}

}  // namespace semel::sim
