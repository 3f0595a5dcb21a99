// Whether claims are taken at all. Ends of claims always pass.
//
// Two may close it: the look at the server's settings, and a loss that nobody has accepted (on_loss = "stop").
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include <semel/result.h>

namespace semel::store::redis {

// May be used from any thread.
class ClaimGate {
 public:
  enum class Closer : std::uint8_t { settings, loss };

  void close(Closer by, Error why) {
    const std::scoped_lock lock(mutex_);
    (by == Closer::settings ? settings_ : loss_) = std::move(why);
  }
  void open(Closer by) {
    const std::scoped_lock lock(mutex_);
    (by == Closer::settings ? settings_ : loss_).reset();
  }
  // Why no claim is taken; none if they are.
  [[nodiscard]] std::optional<Error> closed() const {
    const std::scoped_lock lock(mutex_);
    return loss_ ? loss_ : settings_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Error> settings_;
  std::optional<Error> loss_;
};

}  // namespace semel::store::redis
