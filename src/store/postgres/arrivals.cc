#include "store/postgres/arrivals.h"

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include <sys/eventfd.h>
#include <sys/poll.h>
#include <unistd.h>

#include "core/check.h"
#include "store/postgres/connection.h"
#include "store/postgres/statement.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::postgres {

Arrivals::Arrivals() : bell_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  core::check(bell_ >= 0, "there is a descriptor left");
}

Arrivals::~Arrivals() {
  ::close(bell_);
}

void Arrivals::add(Entry entry, SendHere send_here) {
  bool wanted = false;
  {
    const std::scoped_lock lock(mutex_);
    const Done done = sleeping_ ? send_here(entry) : Done::nothing;
    if (done == Done::nothing) calls_.push_back(std::move(entry));
    wanted = sleeping_ && done != Done::all;
    if (wanted) sleeping_ = false;
  }
  if (wanted) ring();
}

void Arrivals::add(Result<Link> link) {
  bool wanted = false;
  {
    const std::scoped_lock lock(mutex_);
    links_.push_back(std::move(link));
    wanted = std::exchange(sleeping_, false);
  }
  if (wanted) ring();
}

void Arrivals::close() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  ring();
}

void Arrivals::ring() const {
  const std::uint64_t one = 1;
  (void)!write(bell_, &one, sizeof(one));  // a full counter wakes as well
}

Arrivals::Taken Arrivals::take() {
  Taken taken;
  const std::scoped_lock lock(mutex_);
  std::swap(taken.calls, calls_);
  std::swap(taken.links, links_);
  return taken;
}

bool Arrivals::closing() {
  const std::scoped_lock lock(mutex_);
  return closing_;
}

bool Arrivals::wait(std::vector<pollfd>& sockets, Millis time_max) {
  {
    const std::scoped_lock lock(mutex_);
    sleeping_ = calls_.empty() && links_.empty() && !closing_;
    if (!sleeping_) time_max = Millis{0};
  }
  sockets.push_back({.fd = bell_, .events = POLLIN, .revents = 0});
  const int ready = poll(sockets.data(), sockets.size(), static_cast<int>(time_max.count()));
  {
    const std::scoped_lock lock(mutex_);
    sleeping_ = false;
  }
  const bool rung = ready > 0 && sockets.back().revents != 0;
  sockets.pop_back();
  if (!rung) return ready > 0;
  std::uint64_t count = 0;
  (void)!read(bell_, &count, sizeof(count));
  return ready > 1;
}

}  // namespace semel::store::postgres
