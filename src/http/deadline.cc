#include "http/deadline.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "http/pace.h"
#include "http/ticker.h"
#include <semel/clock.h>

namespace semel::http {

Deadline::Deadline(Ticker& ticker, Millis patience, std::uint64_t rate_min, std::function<void(Lateness)> when_late)
    : watch_(ticker, [this] { miss(); }),
      when_late_(std::move(when_late)),
      patience_(patience),
      body_{.pace = Pace(patience, rate_min)},
      reply_{.pace = Pace(patience, rate_min)} {}

void Deadline::miss() {
  if (const auto ring = std::exchange(ring_, nullptr)) {
    ring();
    return;
  }
  // A body that is late can still be replied to, unless a reply has begun.
  const bool can_be_told = whole_body_ || (body_.waits && !replying_);
  when_late_(can_be_told ? Lateness::interrupt : Lateness::close);
}

void Deadline::await_piece() {
  ring_ = nullptr;
  body_.waits = true;
  body_.began = watch_.now();
  watch_.expect_within(body_.pace.left());
}

void Deadline::piece_came(std::size_t bytes) {
  body_.waits = false;
  body_.pace.moved(bytes, watch_.now() - body_.began);
  if (reply_.waits) {
    watch_.expect_within(reply_.pace.left());
  } else {
    watch_.expect_nothing();
  }
}

void Deadline::await_whole_body() {
  ring_ = nullptr;
  whole_body_ = true;
  watch_.expect_within(patience_);
}

void Deadline::whole_body_came() {
  whole_body_ = false;
  watch_.expect_nothing();
}

void Deadline::send_whole_reply() {
  ring_ = nullptr;
  replying_ = true;
  watch_.expect_within(patience_);
}

void Deadline::send_piece(std::size_t bytes) {
  ring_ = nullptr;
  replying_ = true;
  reply_.waits = true;
  reply_.began = watch_.now();
  sent_bytes_ = bytes;
  if (!body_.waits) watch_.expect_within(reply_.pace.left());
}

void Deadline::piece_taken() {
  reply_.waits = false;
  reply_.pace.moved(sent_bytes_, watch_.now() - reply_.began);
  if (!body_.waits) watch_.expect_nothing();
}

void Deadline::alarm(Millis time, std::function<void()> ring) {
  ring_ = std::move(ring);
  watch_.expect_within(time);
}

void Deadline::silence() {
  ring_ = nullptr;
  reply_.waits = false;
  watch_.expect_nothing();
}

}  // namespace semel::http
