#include "resolver/at_once.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>

#include "runtime/pause.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::resolver {
namespace {

constexpr Millis one_day{86'400'000};

struct Lanes {
  std::function<Task<void>(std::size_t)> work;
  std::size_t count;
  std::size_t next = 0;
  std::size_t running = 0;
  std::shared_ptr<runtime::Pause> ended;
};

Task<void> run_lane(std::shared_ptr<Lanes> lanes) {
  while (lanes->next < lanes->count) {
    const std::size_t mine = lanes->next++;
    co_await lanes->work(mine);
  }
  if (--lanes->running == 0) lanes->ended->ring();
}

}  // namespace

Task<void> at_once(Clock* clock, std::size_t count, std::size_t limit, std::function<Task<void>(std::size_t)> work) {
  if (count == 0) co_return;
  auto lanes = std::make_shared<Lanes>(
      Lanes{.work = std::move(work), .count = count, .ended = std::make_shared<runtime::Pause>(*clock)});
  const Executor executor = co_await boost::asio::this_coro::executor;
  lanes->running = std::min(count, limit);
  for (std::size_t lane = std::min(count, limit); lane > 0; --lane) {
    boost::asio::co_spawn(executor, run_lane(lanes), boost::asio::detached);
  }
  while (lanes->running > 0) co_await lanes->ended->wait(one_day);
}

}  // namespace semel::resolver
