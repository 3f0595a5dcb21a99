#include "store/batched_store.h"

#include <algorithm>
#include <cstddef>
#include <expected>
#include <optional>
#include <utility>
#include <variant>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/this_coro.hpp>

#include "core/terms.h"
#include "store/call.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store {

Async<Claim> BatchedStore::claim(Key key, Fingerprint fingerprint, Terms terms) {
  if (Result<void> sound = core::check_terms(terms); !sound) co_return std::unexpected(std::move(sound.error()));
  StoreCall call = claim_call(std::move(key), fingerprint, std::move(terms));
  co_await submit(call);
  co_return std::move(std::get<ClaimCall>(call.request).answer);
}

Async<void> BatchedStore::renew(Key key, Fence fence, Millis lease) {
  if (Result<void> sound = core::check_lease(lease); !sound) co_return sound;
  StoreCall call{.key = std::move(key), .request = {}};
  auto& request = call.request.emplace<RenewCall>();
  request.fence = fence;
  request.lease = lease;
  co_await submit(call);
  co_return std::move(request.answer);
}

Async<void> BatchedStore::complete(Key key, Fence fence, SharedResponse response) {
  StoreCall call{.key = std::move(key), .request = {}};
  auto& request = call.request.emplace<CompleteCall>();
  request.fence = fence;
  request.response = std::move(response);
  co_await submit(call);
  co_return std::move(request.answer);
}

Async<void> BatchedStore::release(Key key, Fence fence) {
  StoreCall call{.key = std::move(key), .request = {}};
  auto& request = call.request.emplace<ReleaseCall>();
  request.fence = fence;
  co_await submit(call);
  co_return std::move(request.answer);
}

Async<std::size_t> BatchedStore::sweep(std::size_t limit) {
  std::size_t swept = 0;
  while (swept < limit) {
    const std::size_t chunk = std::min(sweep_chunk_, limit - swept);
    StoreCall call;
    auto& request = call.request.emplace<SweepCall>();
    request.limit = chunk;
    co_await submit(call);
    if (!request.answer) co_return std::move(request.answer);
    swept += *request.answer;
    const auto cancelled = co_await boost::asio::this_coro::cancellation_state;
    if (*request.answer < chunk || cancelled.cancelled() != boost::asio::cancellation_type::none) break;
  }
  co_return swept;
}

Async<bool> BatchedStore::reopen(Key key) {
  StoreCall call{.key = std::move(key), .request = {}};
  auto& request = call.request.emplace<ReopenCall>();
  co_await submit(call);
  co_return std::move(request.answer);
}

Async<std::optional<Held>> BatchedStore::look_up(Key key) {
  StoreCall call{.key = std::move(key), .request = {}};
  auto& request = call.request.emplace<LookCall>();
  co_await submit(call);
  co_return std::move(request.answer);
}

}  // namespace semel::store
