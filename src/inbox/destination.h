// Where events go: a handler at an upstream, and how it is treated. conf/semel.toml explains each member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "inbox/breaker.h"
#include "inbox/event_view.h"
#include "inbox/filter.h"
#include "inbox/schedule.h"
#include "reading/fault.h"
#include "reading/secret.h"
#include "reading/units.h"

namespace semel::inbox {

// The target of a request to a handler, such as `/handlers/{type}`: values are percent-encoded.
class HandlerTarget {
 public:
  static reading::Parsed<HandlerTarget> parse(std::string_view text);

  // Empty text: none was configured, and an event keeps the target that it came to.
  [[nodiscard]] const std::string& text() const { return text_; }
  // None if the event lacks a part.
  [[nodiscard]] std::optional<std::string> render(const EventView& event) const;

 private:
  std::string text_;
  std::vector<std::variant<std::string, EventPart>> pieces_;
};

// After an attempt that may have taken effect. With `probe`, the upstream is asked before each further attempt.
enum class OnSilence : std::uint8_t { retry, hold, probe };

struct Destination {
  std::string name;
  std::size_t upstream = 0;  // in Config::upstreams
  HandlerTarget target;
  std::uint32_t concurrency = 64;
  std::optional<reading::Rate> rate;
  RetrySchedule schedule;
  std::vector<std::uint16_t> fatal;
  BreakerRules breaker;
  std::uint32_t replay_share_percent = 25;
  OnSilence on_unknown = OnSilence::retry;
  HandlerTarget probe;   // to be asked; empty: the event has its own, from its route
  reading::Secret sign;  // empty: attempts are not signed
};

enum class EventOrder : std::uint8_t { none, latest, fifo };
enum class OnDead : std::uint8_t { skip, block };

// A destination of one webhook, and what it gets.
struct Outlet {
  std::size_t to = 0;  // in Config::destinations
  std::optional<EventFilter> when;
};

// What a webhook or a route with `delivery = "inbox"` says beside what it has in common with the others.
struct InboxRules {
  std::vector<Outlet> deliver;
  EventOrder order = EventOrder::none;
  Millis reorder{0};
  OnDead on_dead = OnDead::skip;
  std::uint32_t depth_max = 1'000'000;
  bool credentials = false;  // Authorization and Cookie are kept with an event, too
};

// The fields of Standard Webhooks for one attempt: `v1,` and the HMAC-SHA-256 of id, time and body. A secret that
// begins with `whsec_` is base64 behind that.
struct AttemptSignature {
  std::string id;
  std::string timestamp;
  std::string signature;
};
AttemptSignature sign_attempt(const reading::Secret& secret, std::string_view id, std::string_view body, Time now);

}  // namespace semel::inbox
