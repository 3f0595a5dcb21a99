// A delivery that holds several events, each with a key of its own.
//
// Events are claimed together; the handler gets those that have not been processed yet, in the order in which they
// came, and the delivery is acknowledged when all of them are done.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/identify.h"
#include "policy/request_view.h"
#include "webhook/authenticate.h"
#include "webhook/event.h"
#include "webhook/provider.h"

namespace semel::webhook {

inline constexpr std::size_t batch_items_max = 1'000;

struct EventBatch {
  std::vector<std::string_view> items;  // as they are in the body
  // The different events among them, in the order of their objects, if they are ordered, and of their keys: two
  // deliveries that share some claim them in the same order, so that one of the two gets all. `identities[i]` is of
  // `items[firsts[i]]`.
  std::vector<policy::Identity> identities;
  std::vector<std::size_t> firsts;
};

// The parts of a batch. Null if the body is a single event; a refusal if one of the events has no key.
using Split = std::variant<std::monostate, EventBatch, policy::Refusal>;
Split split_batch(const Provider& provider, const EventPlace& place, const Authentic& authentic,
                  const policy::RequestView& request);

// The body with only the items that `keep` lists; unchanged, byte by byte, if it lists all of them.
std::string body_with(std::string_view body, const std::vector<std::string_view>& items, const std::vector<bool>& keep);

}  // namespace semel::webhook
