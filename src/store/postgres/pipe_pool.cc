// Which connection is used, given up, or replaced. The driver decides what goes over it.
#include "store/postgres/pipe_pool.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <sys/poll.h>

#include "store/postgres/connection.h"
#include "store/postgres/pipe.h"
#include "store/postgres/seen.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::postgres {
namespace {

constexpr std::size_t stuck_max = 4;  // connections that are replaced while the server sits on them
constexpr Millis grace{500};          // for a connection to come back before claims are refused

void append(GivenUp& all, GivenUp more) {
  std::ranges::move(more, std::back_inserter(all));
}

}  // namespace

void PipePool::add(Result<Link> link) {
  if (link && pipes_.size() >= connections_max_) return;  // one that was stuck has come back meanwhile
  if (link) {
    pipes_.push_back(std::make_unique<Pipe>(*std::move(link)));
    down_.reset();
  } else if (pipes_.empty()) {
    down_ = std::move(link.error());
  }
}

bool PipePool::idle() const {
  const auto free = [](const auto& pipe) { return pipe->under_way() == 0; };
  return !pipes_.empty() && std::ranges::all_of(pipes_, free);
}

bool PipePool::sent_after(std::chrono::nanoseconds time) const {
  return std::ranges::any_of(pipes_, [&](const auto& pipe) { return pipe->under_way() > 0 && pipe->sent_at() > time; });
}

Pipe& PipePool::idlest() const {
  return **std::ranges::min_element(pipes_, {}, [](const auto& each) { return each->under_way(); });
}

GivenUp PipePool::lose(Pipe& pipe) {
  if (&pipe == broken_) broken_ = nullptr;
  GivenUp given_up = pipe.give_up();
  std::erase_if(pipes_, [&](const auto& each) { return each.get() == &pipe; });
  dialer_.want();
  if (pipes_.empty()) lost_at_ = clock_.now();
  return given_up;
}

GivenUp PipePool::lose_broken() {
  return broken_ == nullptr ? GivenUp{} : lose(*broken_);
}

GivenUp PipePool::lose_all() {
  GivenUp given_up;
  while (!pipes_.empty()) append(given_up, lose(*pipes_.front()));
  return given_up;
}

GivenUp PipePool::lose_all(Error why) {
  GivenUp given_up = lose_all();
  down_ = std::move(why);
  return given_up;
}

GivenUp PipePool::lose_overtaken(const NewestSeen& newest) {
  GivenUp given_up;
  for (std::size_t i = pipes_.size(); i-- > 0;) {
    if (newest.overtakes(pipes_[i]->greeted())) append(given_up, lose(*pipes_[i]));
  }
  return given_up;
}

GivenUp PipePool::give_up_late(Time now) {
  GivenUp given_up;
  for (auto at = pipes_.begin(); at != pipes_.end();) {
    if ((*at)->under_way() == 0 || (*at)->deadline() > now) {
      ++at;
      continue;
    }
    append(given_up, (*at)->give_up());
    stuck_.push_back(std::move(*at));
    at = pipes_.erase(at);
    if (stuck_.size() <= stuck_max) dialer_.want();
    if (pipes_.empty()) lost_at_ = clock_.now();
  }
  if (pipes_.empty() && !down_ && now >= lost_at_ + grace) {
    down_ = Error{.code = Code::unavailable, .detail = "PostgreSQL cannot be reached"};
  }
  return given_up;
}

GivenUp PipePool::give_up_all() {
  GivenUp given_up;
  for (const auto& pipe : pipes_) append(given_up, pipe->give_up());
  return given_up;
}

std::vector<pollfd> PipePool::sockets() const {
  std::vector<pollfd> sockets;
  sockets.reserve(pipes_.size() + stuck_.size() + 1);  // and room for the caller's own
  for (const auto& pipe : pipes_) {
    const auto events = static_cast<short>(pipe->unsent() ? POLLIN | POLLOUT : POLLIN);
    sockets.push_back({.fd = pipe->socket(), .events = events, .revents = 0});
  }
  for (const auto& pipe : stuck_) sockets.push_back({.fd = pipe->socket(), .events = POLLIN, .revents = 0});
  return sockets;
}

PipePool::Read PipePool::read(std::span<const pollfd> sockets) {
  std::vector<Pipe*> ready;
  for (std::size_t i = 0; i < pipes_.size(); ++i) {
    if (sockets[i].revents != 0) ready.push_back(pipes_[i].get());
  }
  Read read;
  for (Pipe* pipe : ready) {
    if (!pipe->advance(read.ended)) append(read.lost, lose(*pipe));
  }
  return read;
}

// A stuck connection that has answered is as good as new; one that broke is replaced, if that was put off.
void PipePool::read_stuck() {
  std::vector<Ended> nobody;
  for (auto at = stuck_.begin(); at != stuck_.end();) {
    const bool alive = (*at)->advance(nobody);
    if (alive && (*at)->under_way() > 0) {
      ++at;
      continue;
    }
    if (alive && pipes_.size() < connections_max_) {
      pipes_.push_back(std::move(*at));
      down_.reset();
    } else if (stuck_.size() > stuck_max) {
      dialer_.want();
    }
    at = stuck_.erase(at);
  }
}

Time PipePool::next_deadline(Time latest) const {
  for (const auto& pipe : pipes_) {
    if (pipe->under_way() > 0) latest = std::min(latest, pipe->deadline());
  }
  if (pipes_.empty() && !down_) latest = std::min(latest, lost_at_ + grace);
  return latest;
}

}  // namespace semel::store::postgres
