// The front of every store that works in batches. Each call of Store becomes a StoreCall and is handed over; its
// coroutine sleeps until the call has been answered.
#pragma once

#include <cstddef>
#include <optional>

#include "store/call.h"
#include "store/lookup.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/reopening.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::store {

class BatchedStore : public Store, public Reopening, public Lookup {
 public:
  // A sweep goes in pieces of `sweep_chunk` records, so that no other call waits long behind it.
  explicit BatchedStore(std::size_t sweep_chunk) : sweep_chunk_(sweep_chunk) {}

  Async<Claim> claim(Key key, Fingerprint fingerprint, Terms terms) override;
  Async<void> renew(Key key, Fence fence, Millis lease) final;
  Async<void> complete(Key key, Fence fence, SharedResponse response) final;
  Async<void> release(Key key, Fence fence) final;
  Async<std::size_t> sweep(std::size_t limit) final;
  Async<bool> reopen(Key key) override;
  Async<std::optional<Held>> look_up(Key key) override;

 private:
  // Completes, on the caller's executor, when the call has been answered. `call` lives until then.
  virtual Task<void> submit(StoreCall& call) = 0;

  std::size_t sweep_chunk_;
};

}  // namespace semel::store
