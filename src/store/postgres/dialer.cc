// One attempt after the other, with growing pauses. A server that was reached is admitted, and its statements prepared.
#include "store/postgres/dialer.h"

#include <algorithm>
#include <cstdint>
#include <expected>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <unistd.h>

#include "store/postgres/connection.h"
#include "store/postgres/known_server.h"
#include "store/postgres/server.h"
#include "store/postgres/sql.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::postgres {
namespace {

constexpr Millis pause_min{50};
constexpr Millis pause_max{1'000};
constexpr int greetings_more = 2;

// Spreads gateways over three quarters to five quarters of `pause`.
Millis spread(Millis pause, std::uint64_t& state) {
  state = (state * 6'364'136'223'846'793'005U) + 1'442'695'040'888'963'407U;
  return (pause * 3 / 4) +
         Millis{static_cast<Millis::rep>((state >> 33U) % static_cast<std::uint64_t>(pause.count() / 2))};
}

}  // namespace

Dialer::Dialer(const Clock& clock, std::string url, KnownServer known, Millis time_max, Deliver deliver)
    : clock_(clock),
      url_(std::move(url)),
      time_max_(time_max),
      deliver_(std::move(deliver)),
      known_(std::move(known)) {}

Dialer::~Dialer() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Result<Link> Dialer::dial() {
  // A gateway that has seen no server cannot tell a former primary by its timeline alone.
  if (known_.set().empty()) return admit(connect_newest(clock_, url_, time_max_));
  Result<Link> link = admit(connect(clock_, url_, time_max_));
  if (link) return link;
  for (const DatabaseHost& host : hosts_of(url_)) {
    Result<Link> other = admit(connect(clock_, url_, time_max_, host));
    if (other) return other;
  }
  return link;
}

Result<Link> Dialer::admit(Result<DatabaseConnection> connection) {
  if (!connection) return std::unexpected(std::move(connection.error()));
  const std::uint64_t doubts = known_.doubts();
  Result<Server> server = greet(clock_, connection->get(), time_max_);
  Result<void> admitted = server ? known_.admit(*server) : Result<void>(std::unexpected(server.error()));
  // What it said may have been overtaken meanwhile by what another connection has seen. It says the newest when asked
  // again.
  for (int i = 0; i < greetings_more && server && !admitted; ++i) {
    server = greet(clock_, connection->get(), time_max_);
    if (server) admitted = known_.admit(*server);
  }
  if (!server) return std::unexpected(server.error());
  if (!admitted) return std::unexpected(admitted.error());
  Link link{.connection = *std::move(connection),
            .calling = Calling::by_text,
            .standing = server->standing,
            .greeted = {.timeline = server->timeline, .doubts = doubts}};
  if (server->pooled) return link;
  for (const Sql& sql : all_sql) {
    const std::string prepare = std::string("PREPARE ") + sql.name + " AS " + sql.text;
    const auto prepared = ask(clock_, link.connection.get(), prepare, {}, time_max_);
    if (!prepared) return std::unexpected(prepared.error());
  }
  link.calling = Calling::prepared;
  return link;
}

void Dialer::want() {
  {
    const std::scoped_lock lock(mutex_);
    ++wanted_;
    if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
  }
  wake_.notify_one();
}

// Waits until a connection is wanted, and in any case for `pause`. False: the dialer is being destroyed.
bool Dialer::next(Millis pause) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, pause, [&] { return closing_; });
  wake_.wait(lock, [&] { return closing_ || wanted_ > 0; });
  return !closing_;
}

void Dialer::serve() {
  auto state = static_cast<std::uint64_t>(getpid());
  Millis pause{0};
  while (next(pause)) {
    Result<Link> link = dial();
    if (link) {
      pause = Millis{0};
      const std::scoped_lock lock(mutex_);
      --wanted_;
    } else {
      pause = spread(std::clamp(pause * 2, pause_min, pause_max), state);
    }
    deliver_(std::move(link));
  }
}

}  // namespace semel::store::postgres
