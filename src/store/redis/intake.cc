#include "store/redis/intake.h"

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include <sys/eventfd.h>
#include <sys/poll.h>
#include <unistd.h>

#include "core/check.h"
#include "store/redis/batch.h"
#include "store/redis/dialer.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {

Intake::Intake() : bell_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  core::check(bell_ >= 0, "there is a descriptor left");
}

Intake::~Intake() {
  ::close(bell_);
}

void Intake::add(RedisEntry entry) {
  const std::scoped_lock lock(mutex_);
  arrived_.calls.push_back(std::move(entry));
  if (std::exchange(sleeping_, false)) ring();
}

void Intake::add(Result<RedisLink> link) {
  const std::scoped_lock lock(mutex_);
  arrived_.links.push_back(std::move(link));
  if (std::exchange(sleeping_, false)) ring();
}

void Intake::close() {
  const std::scoped_lock lock(mutex_);
  arrived_.closing = true;
  ring();
}

void Intake::ring() const {
  const std::uint64_t one = 1;
  (void)!write(bell_, &one, sizeof(one));  // a full counter wakes as well
}

Intake::Taken Intake::take() {
  const std::scoped_lock lock(mutex_);
  Taken taken = std::exchange(arrived_, Taken{});
  arrived_.closing = taken.closing;
  return taken;
}

void Intake::wait(std::vector<pollfd>& sockets, Millis time_max) {
  {
    const std::scoped_lock lock(mutex_);
    sleeping_ = arrived_.calls.empty() && arrived_.links.empty() && !arrived_.closing;
    if (!sleeping_) time_max = Millis{0};
  }
  sockets.push_back({.fd = bell_, .events = POLLIN, .revents = 0});
  const int ready = poll(sockets.data(), sockets.size(), static_cast<int>(time_max.count()));
  {
    const std::scoped_lock lock(mutex_);
    sleeping_ = false;
  }
  std::uint64_t count = 0;
  if (ready > 0 && sockets.back().revents != 0) (void)!read(bell_, &count, sizeof(count));
  sockets.pop_back();
}

}  // namespace semel::store::redis
