// A word to the scheduler, for a thread that everybody waits for but that needs little time.
#pragma once

namespace semel::store {

// Asks that the calling thread be run soon when it wakes, for turns of a tenth of a millisecond. Linux 6.12 and later
// heed it, and nobody needs a privilege for it; elsewhere nothing happens.
void ask_for_short_turns();

}  // namespace semel::store
