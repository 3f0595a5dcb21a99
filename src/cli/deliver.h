// Sends signed deliveries to a URL, several at once, and says what came back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "http/tls.h"
#include "reading/address.h"
#include "webhook/sign.h"
#include <semel/clock.h>

namespace semel::cli {

struct DeliverOptions {
  reading::Url url;  // its authority; the path is the delivery's
  std::uint32_t times = 1;
  std::uint32_t parallel = 1;
  std::shared_ptr<const http::TlsContext> tls = nullptr;  // for https:// only
};

struct Delivered {
  std::vector<std::uint16_t> statuses;  // in the order in which they came; 0 where there was none
  std::string body;                     // of the last answer
  std::string trouble;                  // why there is no connection, where that is known
};

Delivered deliver(const webhook::SignedDelivery& delivery, const DeliverOptions& options, Clock& clock);

}  // namespace semel::cli
