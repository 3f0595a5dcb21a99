// From what came of a request to what its client is told.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "gateway/attempt.h"
#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/joint_claim.h"
#include "gateway/told.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/once.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::gateway {

// What the caller hears whose request went up. Where others are to hear something else later, `outcome` is changed.
Told told_first(const Incoming& incoming, const Job& job, std::unique_ptr<Attempt> attempt, Outcome& outcome);

// An answer of before.
Told told_replay(const Incoming& incoming, const SharedResponse& response, Fence fence, Time expires_at);

// The same, if this thread has given that answer before. Null if it has not: most keys are never asked for again.
std::optional<Told> replay_hot(const Incoming& incoming, const Job& job);

// In what the request differs from the one that holds its key, such as "body". Empty if that is not known.
std::string_view what_differs(const Incoming& incoming, const Job& job, const Fingerprint& holder);

// `first` is null if nothing was attempted. What is told is moved out of it and of the answer.
Told tell(const Incoming& incoming, const Job& job, JointAnswer& joint, std::optional<Told>& first);

}  // namespace semel::gateway
