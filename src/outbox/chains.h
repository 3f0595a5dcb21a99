// Which rows of a batch must be accepted one after the other.
//
// Those of one object, in the order of their numbers: an inbox begins what it accepts, so a later one that came first
// would go out first. Those of one key, too, so that of two different effects the earlier has it. All others are
// accepted at the same time.
#pragma once

#include <cstddef>
#include <vector>

#include "outbox/database.h"

namespace semel::outbox {

// Positions in `rows`, which are in the order of their numbers.
using Chain = std::vector<std::size_t>;
std::vector<Chain> chains_of(const std::vector<OutboxRow>& rows);

}  // namespace semel::outbox
