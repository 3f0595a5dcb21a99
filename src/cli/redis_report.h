// What `semel check` says about a Redis store: which promises hold in the set-up that it finds, and how far its memory
// goes.
#pragma once

#include "config/config.h"
#include <semel/clock.h>

namespace semel::cli {

// Prints it. False if a gateway would refuse the server; says why.
bool report_redis(const config::Config& config, Clock& clock);

// Prints the losses that nobody has accepted, and accepts them. False if the server cannot be asked; says why.
bool accept_redis_loss(const config::Config& config, Clock& clock);

}  // namespace semel::cli
