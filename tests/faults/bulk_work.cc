// bulk_work DELIVERIES KILLS FOLDER: a job sends so many dead letters again on an embedded store, and its process is
// killed so many times on the way.
//
// Each life of the store is a process of its own: it moves the job on, takes what is due, and settles it as done. What
// it delivers it notes in memory that outlives it. In the end every event has been delivered once more; again only
// where a kill came between a delivery and its settlement. The job has taken each exactly once, and the books balance.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "core/event_id.h"
#include "lives.h"
#include "store/capable_store.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/inbox_jobs.h"
#include "support/run.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::faults {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t at_once = 512;  // deliveries that run, and may be cut by a kill
constexpr std::size_t turn = 256;
constexpr Millis hour{3'600'000};

// Shared with the processes that are killed.
struct Shared {
  std::atomic<std::uint64_t> taken{0};
  std::atomic<bool> ended{false};
};

struct World {
  std::filesystem::path folder;
  std::uint64_t deliveries = 0;
  Shared* shared = nullptr;
  std::span<std::uint8_t> delivered;  // by the number of the event: how often
};

store::AcceptOrder order_of(std::uint64_t number) {
  store::AcceptOrder order;
  const std::string text = std::to_string(number);
  order.key = must(make_key("webhook:/h", "", text));
  order.ttl = 24 * hour;
  order.owner = number + 1;
  order.source = "/h";
  order.type = "charge.paid";
  order.to.push_back({.name = "billing", .room = true, .skipped_by = {}});
  order.parcel = std::make_shared<const store::Parcel>(store::Parcel{.status = 200, .fields = {}, .body = text});
  order.depth_max = UINT64_MAX;
  order.bytes_max = UINT64_MAX / 2;
  return order;
}

SharedResponse reply(const core::EventId& /*id*/, const Key& /*key*/, const Fence& /*fence*/) {
  return std::make_shared<const Response>(Response{.status = 200, .fields = {}, .body = {}});
}

store::SettleOrder settlement(const core::EventId& id, std::uint32_t attempt, store::DeliveryState state) {
  store::SettleOrder order;
  order.id = id;
  order.to = "billing";
  order.attempt = attempt;
  order.state = state;
  order.status = 200;
  order.why = "a test";
  order.retain_ended = 24 * hour;
  return order;
}

Task<void> die_once(store::Inbox* inbox, std::uint64_t number, std::size_t* left) {
  store::AcceptOrder order = order_of(number);
  store::AcceptReply answer = &reply;
  const store::Acceptance accepted = must(co_await inbox->accept(std::move(order), std::move(answer)));
  const auto& event = std::get<store::AcceptedEvent>(accepted);
  store::SettleOrder dead = settlement(event.id, 1, store::DeliveryState::dead);
  must(co_await inbox->settle(std::move(dead)));
  --*left;
}

void prepare(const World& world) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  store::CapableStore opened = open_store(world.folder, *clock);
  boost::asio::io_context context{1};
  store::AdoptOrder none{.limit = 10, .rest = Millis{0}, .holding = {}};
  while (must(test::run(context, opened.inbox->adopt(none))) > 0) {
  }
  for (std::uint64_t next = 0; next < world.deliveries;) {
    std::size_t left = std::min<std::uint64_t>(at_once, world.deliveries - next);
    for (std::size_t i = left; i > 0; --i) {
      boost::asio::co_spawn(context, die_once(opened.inbox, next++, &left), boost::asio::detached);
    }
    context.restart();
    while (left > 0) context.run_one();
  }
  store::InboxJob job;
  job.scope.filter.state = store::DeliveryState::dead;
  job.scope.filter.to = "billing";
  job.scope.filter.until = clock->now() + hour;
  job.token = "t";
  job.count = world.deliveries;
  must(test::run(context, opened.inbox_jobs->plan(job)));
  store::JobStart start{.token = "t", .count = world.deliveries, .reason = "a test", .who = "nobody"};
  must(test::run(context, opened.inbox_jobs->start(start)));
}

Task<void> deliver(const World* world, store::Inbox* inbox, store::TakenDelivery delivery, std::size_t* left) {
  const std::optional<store::Parcel> parcel = must(co_await inbox->load(delivery.event.id));
  if (!parcel) throw std::runtime_error("an event has lost its body");
  ++world->delivered[std::stoull(parcel->body)];
  const std::uint32_t attempt = delivery.event.deliveries[delivery.at].attempt;
  store::SettleOrder done = settlement(delivery.event.id, attempt, store::DeliveryState::done);
  must(co_await inbox->settle(std::move(done)));
  --*left;
}

Task<void> move_on(const World* world, store::InboxJobs* jobs, store::InboxJob* job, std::size_t* left) {
  const store::JobTurn next{.number = 1, .limit = turn, .retain_ended = hour};
  store::JobProgress progress = must(co_await jobs->advance(next));
  *job = std::move(progress.job);
  world->shared->taken = job->taken;
  --*left;
}

// One life of the store, until the job has ended and all is delivered, or it is killed.
void live(const World& world) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  store::CapableStore opened = open_store(world.folder, *clock);
  boost::asio::io_context context{1};
  const store::AdoptOrder adoption{.limit = 1'000, .rest = Millis{0}, .holding = {}};
  while (must(test::run(context, opened.inbox->adopt(adoption))) > 0) {
  }
  store::InboxJob job = must(test::run(context, opened.inbox_jobs->jobs())).front();
  for (;;) {
    const store::TakeOrder order{.to = "billing", .limit = at_once, .replays_max = at_once};
    store::TakenDeliveries taken = must(test::run(context, opened.inbox->take(order)));
    const bool over = job.state != store::JobState::running && taken.deliveries.empty();
    if (over) break;
    std::size_t left = taken.deliveries.size() + 1;
    boost::asio::co_spawn(context, move_on(&world, opened.inbox_jobs, &job, &left), boost::asio::detached);
    for (store::TakenDelivery& each : taken.deliveries) {
      boost::asio::co_spawn(context, deliver(&world, opened.inbox, std::move(each), &left), boost::asio::detached);
    }
    context.restart();
    while (left > 0) context.run_one();
  }
  world.shared->ended = true;
}

int judge(const World& world, std::uint64_t kills) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  store::CapableStore opened = open_store(world.folder, *clock);
  boost::asio::io_context context{1};
  const store::InboxJob job = must(test::run(context, opened.inbox_jobs->jobs())).front();
  int failures = 0;
  const std::uint64_t all = world.deliveries;
  expect(job.taken == all, "the job took " + std::to_string(job.taken), failures);
  expect(job.done == all, "of those " + std::to_string(job.done) + " are done", failures);
  std::uint64_t calls = 0;
  for (const std::uint8_t times : world.delivered) calls += times;
  expect(std::ranges::find(world.delivered, 0) == world.delivered.end(), "some were not delivered", failures);
  expect(calls <= all + kills * at_once, std::to_string(calls) + " deliveries", failures);
  for (const store::DeliveryTally& tally : must(test::run(context, opened.inbox_desk->status()))) {
    expect(tally.unaccounted() == 0, "unaccounted for", failures);
    expect(tally.by_state.at(static_cast<std::size_t>(store::DeliveryState::done)) == all, "the states", failures);
  }
  std::uint64_t carry = 0;
  std::string cursor;
  do {
    store::DeliveryFilter filter;
    filter.items_max = 1'000;
    const store::DeliveryList list = must(test::run(context, opened.inbox_desk->list(filter, cursor)));
    for (const store::TakenDelivery& each : list.items) carry += each.event.deliveries[each.at].job == 1 ? 1 : 0;
    cursor = list.cursor;
  } while (!cursor.empty());
  expect(carry == all, std::to_string(carry) + " carry the number of the job", failures);
  std::printf("%llu deliveries, %llu of them again because a kill cut them\n", static_cast<unsigned long long>(calls),
              static_cast<unsigned long long>(calls - all));
  return failures == 0 ? 0 : 1;
}

int run(std::uint64_t deliveries, std::uint64_t kills, const std::filesystem::path& folder) {
  World world{.folder = folder, .deliveries = deliveries, .shared = nullptr, .delivered = {}};
  world.shared = new (shared_memory(sizeof(Shared))) Shared;
  world.delivered = {static_cast<std::uint8_t*>(shared_memory(deliveries)), deliveries};
  steady_clock::time_point began = steady_clock::now();
  in_a_process([&] { prepare(world); }, {});
  std::printf("%llu dead letters in %.1f s\n", static_cast<unsigned long long>(deliveries), seconds_since(began));
  began = steady_clock::now();
  const auto life = [&] { live(world); };
  const std::uint64_t killed = live_and_die(life, kills, deliveries, [&] { return world.shared->taken.load(); });
  const double took = seconds_since(began);
  std::printf("sent again in %.1f s, %.0f a second, with %llu kills\n", took, static_cast<double>(deliveries) / took,
              static_cast<unsigned long long>(killed));
  const int code = world.shared->ended ? judge(world, killed) : 1;
  return killed < kills ? 1 : code;
}

}  // namespace
}  // namespace semel::faults

int main(int argc, char** argv) {
  return semel::faults::main_of(argc, argv, "DELIVERIES", semel::faults::run);
}
