// One request, top to bottom. exchange.cc is where to start reading.
#pragma once

#include <memory>

#include "gateway/plan.h"
#include "gateway/services.h"
#include "http/transaction.h"
#include <semel/async.h>

namespace semel::gateway {

// Answers the request of `client`, counts it and logs it. What is pointed to must live until this has ended.
Task<void> exchange(Services services, std::shared_ptr<const Plan> plan, http::Transaction* client);

}  // namespace semel::gateway
