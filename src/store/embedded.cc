// The embedded store: coroutines in front, one committer behind, RocksDB below.
//
// A claim first reads the record in the caller's own thread: what has ended, or is held by somebody else, is answered
// at once and costs the committer nothing. Everything that may change a record goes through the committer.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/this_coro.hpp>

#include "core/terms.h"
#include "core/transition.h"
#include "store/batch.h"
#include "store/committer.h"
#include "store/recent_writes.h"
#include "store/rocks_ledger.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace semel {
namespace {

constexpr std::size_t sweep_chunk = 256;  // so that nobody waits long behind a sweep

class EmbeddedStore : public Store {
 public:
  explicit EmbeddedStore(std::unique_ptr<RocksLedger> ledger)
      : ledger_(std::move(ledger)), committer_(*ledger_, recent_, ledger_->clock()) {}

  Async<Claim> claim(Key key, Fingerprint fingerprint, Terms terms) override {
    if (Result<void> sound = check_terms(terms); !sound) co_return std::unexpected(std::move(sound.error()));
    Call call{.key = std::move(key), .request = {}};
    auto& request = call.request.emplace<ClaimCall>();
    request.fingerprint = fingerprint;
    request.terms = terms;
    if (settled(call.key, request)) co_return std::move(request.answer);
    co_await committer_.submit(call);
    co_return std::move(request.answer);
  }

  Async<void> renew(Key key, Fence fence, Millis lease) override {
    if (Result<void> sound = check_lease(lease); !sound) co_return sound;
    Call call{.key = std::move(key), .request = {}};
    auto& request = call.request.emplace<RenewCall>();
    request.fence = fence;
    request.lease = lease;
    co_await committer_.submit(call);
    co_return std::move(request.answer);
  }

  Async<void> complete(Key key, Fence fence, SharedResponse response) override {
    Call call{.key = std::move(key), .request = {}};
    auto& request = call.request.emplace<CompleteCall>();
    request.fence = fence;
    request.response = std::move(response);
    co_await committer_.submit(call);
    co_return std::move(request.answer);
  }

  Async<void> release(Key key, Fence fence) override {
    Call call{.key = std::move(key), .request = {}};
    auto& request = call.request.emplace<ReleaseCall>();
    request.fence = fence;
    co_await committer_.submit(call);
    co_return std::move(request.answer);
  }

  Async<std::size_t> sweep(std::size_t limit) override {
    std::size_t swept = 0;
    while (swept < limit) {
      const std::size_t chunk = std::min(sweep_chunk, limit - swept);
      Call call;
      auto& request = call.request.emplace<SweepCall>();
      request.limit = chunk;
      co_await committer_.submit(call);
      if (!request.answer) co_return std::move(request.answer);
      swept += *request.answer;
      const auto cancelled = co_await boost::asio::this_coro::cancellation_state;
      if (*request.answer < chunk || cancelled.cancelled() != boost::asio::cancellation_type::none) break;
    }
    co_return swept;
  }

 private:
  // Answers a claim that changes nothing, if what is durable settles it. A lapsed lease does not: its renewal may be on
  // its way to the disk.
  bool settled(const Key& key, ClaimCall& request) {
    const std::uint64_t version = recent_.version();
    Result<std::optional<Record>> read = ledger_->read(key.id);
    if (!read) {
      request.answer = std::unexpected(std::move(read.error()));
      return true;
    }
    const std::optional<Record> stored = *std::move(read);
    if (!stored) {
      request.absent_at = version;
      return false;
    }
    const Time now = ledger_->clock().now();
    if (stored->state == State::running && now >= stored->lease_until) return false;
    ClaimStep step = step_claim(&*stored, key, request.fingerprint, request.terms, now);
    if (!step.store) request.answer = std::move(step.answer);
    return !step.store;
  }

  std::unique_ptr<RocksLedger> ledger_;
  RecentWrites recent_;
  Committer committer_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_embedded_store(Clock& clock, EmbeddedOptions options) {
  Result<std::unique_ptr<RocksLedger>> ledger = RocksLedger::open(clock, std::move(options));
  if (!ledger) return std::unexpected(std::move(ledger.error()));
  return std::make_unique<EmbeddedStore>(*std::move(ledger));
}

}  // namespace semel
