// The deadline of one transaction: when its client is late, and what that ends.
//
// The body comes in and the reply goes out, and both may be under way at once. They share the deadline: while a piece
// of the body is awaited its time counts, otherwise that of the reply. Either has a pace to keep (pace.h); a body or a
// reply that goes in one go has `patience` instead. While neither is under way, the handler may set an alarm.
//
// Knows no connection and no protocol: its owner says what to do about a client that is late. Used on the ticker's
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "http/pace.h"
#include "http/ticker.h"
#include <semel/clock.h>

namespace semel::http {

class Deadline {
 public:
  // `rate_min` in bytes per second; 0: any.
  Deadline(Ticker& ticker, Millis patience, std::uint64_t rate_min, std::function<void(Lateness)> when_late);

  // A piece of the body is awaited; then this many bytes of it have come, or the wait has ended without.
  void await_piece();
  void piece_came(std::size_t bytes);
  // All of the body is awaited; then it has come, or the wait has ended without. Pieces have no time of their own then.
  void await_whole_body();
  void whole_body_came();
  [[nodiscard]] bool awaits_whole_body() const { return whole_body_; }

  // The reply goes out in one go.
  void send_whole_reply();
  // A piece of the reply goes out; then the client has taken it, and is not to blame for the time until the next.
  void send_piece(std::size_t bytes);
  void piece_taken();

  void alarm(Millis time, std::function<void()> ring);
  // Nothing is awaited any more.
  void silence();

  // Whether it has been missed; that is never taken back.
  [[nodiscard]] bool late() const { return watch_.late(); }

 private:
  // One of the two directions: its pace, and the piece that is under way.
  struct Way {
    Pace pace;
    Millis began{0};
    bool waits = false;
  };

  void miss();

  Ticker::Watch watch_;
  const std::function<void(Lateness)> when_late_;
  std::function<void()> ring_;
  const Millis patience_;
  Way body_;
  Way reply_;
  std::size_t sent_bytes_ = 0;  // in the piece of the reply that is under way
  bool whole_body_ = false;
  bool replying_ = false;  // a reply has begun
};

}  // namespace semel::http
