// Several pieces of work, some at a time, on one thread.
#pragma once

#include <cstddef>
#include <functional>

#include <semel/async.h>
#include <semel/clock.h>

namespace semel::resolver {

// Calls `work` for 0 to count - 1, at most `limit` of them at once, and returns when all have ended. What `work` uses
// outlives this. No exception may leave it.
Task<void> at_once(Clock* clock, std::size_t count, std::size_t limit, std::function<Task<void>(std::size_t)> work);

}  // namespace semel::resolver
