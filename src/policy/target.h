// Where a request goes, and what becomes of the answer: what a route and a webhook have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "policy/keep.h"
#include <semel/once.h>

namespace semel::policy {

enum class OnStoreDown : std::uint8_t { refuse, forward };

struct Target {
  std::size_t upstream = 0;  // in Config::upstreams
  Policy policy;
  KeepRules keep;
  std::vector<std::string> replay_fields;
  std::uint64_t store_body_max = 0;  // the limit of the file unless the route has its own
  OnStoreDown on_store_down = OnStoreDown::refuse;
  bool buffer = false;  // a body that passes through is read before the upstream is called
};

}  // namespace semel::policy
