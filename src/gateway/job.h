// What is to run once: a request or delivery that was looked at, with the keys that it runs under.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "gateway/told.h"
#include "policy/expression.h"
#include "policy/identify.h"
#include "policy/request_view.h"
#include "policy/target.h"
#include "telemetry/metrics.h"
#include "telemetry/notebook.h"
#include "webhook/event.h"
#include "webhook/event_batch.h"
#include "webhook/webhook.h"
#include <semel/key.h>

namespace semel::gateway {

struct Job {
  const policy::Target* target;
  const policy::Expression* probe = nullptr;   // null if the outcome of an attempt cannot be asked for
  const webhook::Webhook* webhook = nullptr;   // null if it is a request on a route
  policy::RequestView request;                 // with its body
  policy::Identity identity{};                 // of a request, and of a delivery of one event
  std::optional<webhook::EventBatch> batch{};  // of a delivery of several events
  webhook::EventLabels event{};                // for the log
  std::string_view resolved{};                 // the path of its route, if that has a resolver

  // The keys: one, or one for each different event of a batch.
  [[nodiscard]] std::span<const policy::Identity> events() const {
    return batch ? std::span<const policy::Identity>(batch->identities) : std::span(&identity, 1);
  }
};

// Goes to the upstream without a key: there is none, or the route only observes. Its body has been read.
struct WithoutKey {
  const policy::Target* target;
  policy::RequestView request;
  telemetry::Ending ending;
  std::optional<Key> key{};                         // that it would have had; for the log
  std::string_view would{};                         // mode = "observe": what enforcing would have done
  webhook::EventLabels event{};                     // for the log
  std::unique_ptr<telemetry::Clue> clue = nullptr;  // for the doctor; null if it does not want one
};

// Streamed to the upstream: nothing of it has been read beyond its head.
struct Streamed {
  const policy::Target* target;
};

// What a look at a request says is to be done: nothing more, or one of three ways.
using Way = std::variant<Told, Streamed, WithoutKey, Job>;

}  // namespace semel::gateway
