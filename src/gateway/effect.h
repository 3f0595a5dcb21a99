// An effect that a program has asked for: a request of our own to one destination, through the inbox.
//
//   Effect ──▶ accept_effect() ──▶ inbox ──▶ attempts, with the schedule, the order and the breaker of the destination
//
// It is accepted once under its key, so whoever asks for one may ask again until it hears that it was accepted. All
// attempts carry the same Idempotency-Key, which is derived from the key.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gateway/dispatcher.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/response.h>

namespace semel::gateway {

struct EffectOrder {
  std::string source;       // who asks, such as "outbox:shop": by this operators list it. 1 to 64 bytes
  std::string key;          // 1 to 255 bytes; of this source
  std::string destination;  // a [destination.NAME]
  std::string type{};       // what operators see, and `{type}` in a target
  std::string object{};     // empty: it has no order; else effects of one object go out one after the other
  std::string stamp{};      // its place among those of its object; the greater comes later. Needed with an object
  std::string body{};
  std::vector<Field> fields{};    // `Content-Type` should be among them
  Millis wait{0};                 // before the first attempt
  Millis ttl{30 * 86'400'000LL};  // how long the key is remembered, from the end of `wait` on
  std::uint32_t depth_max = 1'000'000;
};

enum class EffectEnd : std::uint8_t {
  accepted,     // durably, just now
  known,        // the same was accepted before
  reused,       // another effect was accepted under the key before; nothing has changed
  full,         // the inbox has no room; try again later
  unavailable,  // the store does not work, or the gateway is stopping; try again later
  refused,      // it can never be accepted: no such destination, a key or a field that cannot be
};

struct EffectAnswer {
  EffectEnd end = EffectEnd::unavailable;
  std::string detail{};  // of all but `accepted` and `known`
};

// From any executor; the dispatcher must outlive the call. What is accepted is durable when this returns.
Task<EffectAnswer> accept_effect(Dispatcher* dispatcher, EffectOrder effect);

// Keeps an effect that nobody is to get as a dead delivery, so that operators see it and can send it. The same effect
// is kept once. `why` is a word or a few. Returns accepted, known, full or unavailable; refused if the key is none.
Task<EffectAnswer> bury_effect(Dispatcher* dispatcher, EffectOrder effect, std::string why);

// The same for a caller that runs on the thread of `seat`. What is pointed to must live until the call has ended.
Task<EffectAnswer> accept_effect_at(Dispatcher* dispatcher, const Dispatcher::Seat* seat, const EffectOrder* effect);
Task<EffectAnswer> bury_effect_at(Dispatcher* dispatcher, const Dispatcher::Seat* seat, const EffectOrder* effect,
                                  const std::string* why);

}  // namespace semel::gateway
