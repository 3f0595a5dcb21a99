// Sends signed deliveries to a URL, several at once, and says what came back.
#pragma once

#include <cstdint>
#include <vector>

#include "reading/address.h"
#include "webhook/sign.h"
#include <semel/clock.h>

namespace semel::cli {

struct DeliverOptions {
  reading::Url url;  // its authority; the path is the delivery's
  std::uint32_t times = 1;
  std::uint32_t parallel = 1;
};

// The status of each answer, in the order in which they came; 0 where there was none.
std::vector<std::uint16_t> deliver(const webhook::SignedDelivery& delivery, const DeliverOptions& options,
                                   Clock& clock);

}  // namespace semel::cli
