// A hint to the scheduler, for a thread that many wait for but that needs little time.
#pragma once

namespace semel::store {

// Asks that the calling thread run soon after it wakes, in turns of a tenth of a millisecond. Linux 6.12 and later do
// so, and need no privilege for it; elsewhere this has no effect.
void ask_for_short_turns();

}  // namespace semel::store
