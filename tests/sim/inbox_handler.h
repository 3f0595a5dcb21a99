// The handlers of the simulated inbox: what one says to an attempt, and when. Its answer is judged by the real rules.
#pragma once

#include "gateway/handler_call.h"
#include "sim/inbox_world.h"
#include <semel/clock.h>

namespace semel::sim {

struct HandlerTurn {
  Millis takes{0};
  gateway::HandlerAnswer answer;
};

HandlerTurn draw_turn(InboxWorld& world, const SimDestination& destination, bool poison);

}  // namespace semel::sim
