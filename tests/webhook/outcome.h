// What becomes of a delivery, as the gateway would do it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "policy/expression.h"
#include "support/rules.h"
#include "webhook/captured.h"

namespace semel::test {

struct Outcome {
  std::string refused{};            // why; empty if it is taken
  std::vector<std::string> keys{};  // of its events; none if they are not told apart
  std::string places{};             // of its events in the order of their objects
  std::size_t scheme = 0;           // that it was verified by
};

// `key_from` is the webhook's own; null: as the provider's file says.
Outcome outcome_of(const Captured& captured, Sent request, const policy::Expression* key_from = nullptr);

}  // namespace semel::test
