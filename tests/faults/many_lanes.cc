// many_lanes LANES KILLS FOLDER: two events of each of so many objects wait in an embedded store, in order, and are
// delivered while the process is killed so many times.
//
// Each life of the store is a process of its own: it takes what is due and settles it as done. What it delivers it
// notes in memory that outlives it. No event of an object goes out before the one before it has been delivered, none
// after a later one, and never two at once. In the end each has been delivered, again only where a kill cut it, and the
// books balance.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include <sys/resource.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "core/event_id.h"
#include "lives.h"
#include "store/capable_store.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "support/run.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::faults {
namespace {

using std::chrono::steady_clock;

constexpr std::uint64_t events_each = 2;
constexpr std::size_t at_once = 512;  // deliveries that run, and may be cut by a kill
constexpr Millis hour{3'600'000};

// Shared with the processes that are killed.
struct Shared {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> out_of_order{0};
  std::atomic<std::uint64_t> opening_ms{0};  // the longest, with adopting what was left
  std::atomic<std::uint8_t> lives{0};
  std::atomic<std::uint64_t> memory_kib{0};  // of the last life, at its end
  std::atomic<bool> ended{false};
};

struct Lane {
  std::uint8_t begun = 0;    // so many of its events have gone out
  std::uint8_t calls = 0;    // how often
  std::uint8_t at_work = 0;  // the life in which one is out; 0: none is
};

struct World {
  std::filesystem::path folder;
  Shared* shared = nullptr;
  std::span<Lane> lanes;
  std::uint8_t life = 0;
};

store::AcceptOrder order_of(std::uint64_t lane, std::uint64_t place) {
  store::AcceptOrder order;
  const std::string text = std::to_string(lane) + " " + std::to_string(place);
  order.key = must(make_key("webhook:/h", "", text));
  order.ttl = 24 * hour;
  order.owner = lane + 1;
  order.source = "/h";
  order.type = "charge.paid";
  order.to.push_back({.name = "billing", .room = false, .skipped_by = {}});
  order.line.kind = store::Line::Kind::fifo;
  const Key object = must(make_key("object:/h", "", std::to_string(lane)));
  std::memcpy(order.line.object.data(), object.id.data(), order.line.object.size());
  order.line.stamp = std::to_string(place);
  order.parcel = std::make_shared<const store::Parcel>(store::Parcel{.status = 200, .fields = {}, .body = text});
  order.depth_max = UINT64_MAX;
  order.bytes_max = UINT64_MAX / 2;
  return order;
}

SharedResponse reply(const core::EventId& /*id*/, const Key& /*key*/, const Fence& /*fence*/) {
  return std::make_shared<const Response>(Response{.status = 200, .fields = {}, .body = {}});
}

Task<void> accept(store::Inbox* inbox, std::uint64_t lane, std::uint64_t place, std::size_t* left) {
  store::AcceptOrder order = order_of(lane, place);
  store::AcceptReply answer = &reply;
  const store::Acceptance accepted = must(co_await inbox->accept(std::move(order), std::move(answer)));
  if (!std::holds_alternative<store::AcceptedEvent>(accepted)) throw std::runtime_error("an event was not accepted");
  --*left;
}

void adopt(boost::asio::io_context& context, store::Inbox& inbox) {
  const store::AdoptOrder order{.limit = 1'000, .rest = Millis{0}, .holding = {}};
  while (must(test::run(context, inbox.adopt(order))) > 0) {
  }
}

void prepare(const World& world) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  store::CapableStore opened = open_store(world.folder, *clock);
  boost::asio::io_context context{1};
  adopt(context, *opened.inbox);
  const std::uint64_t lanes = world.lanes.size();
  const std::uint64_t events = events_each * lanes;
  for (std::uint64_t next = 0; next < events;) {
    std::size_t left = std::min<std::uint64_t>(at_once, events - next);
    for (std::size_t i = left; i > 0; --i, ++next) {
      boost::asio::co_spawn(context, accept(opened.inbox, next % lanes, next / lanes, &left), boost::asio::detached);
    }
    context.restart();
    while (left > 0) context.run_one();
  }
}

// The handler: notes what it gets.
void handle(const World& world, Lane& lane, std::uint64_t place) {
  const bool again = place + 1 == lane.begun;
  if ((place != lane.begun && !again) || lane.at_work == world.life) ++world.shared->out_of_order;
  lane.begun = static_cast<std::uint8_t>(place + 1);
  lane.at_work = world.life;
  ++lane.calls;
  ++world.shared->calls;
}

Task<void> deliver(const World* world, store::Inbox* inbox, store::TakenDelivery delivery, std::size_t* left) {
  const std::optional<store::Parcel> parcel = must(co_await inbox->load(delivery.event.id));
  if (!parcel) throw std::runtime_error("an event has lost its body");
  char* behind = nullptr;
  Lane& lane = world->lanes[std::strtoull(parcel->body.c_str(), &behind, 10)];
  handle(*world, lane, std::strtoull(behind, nullptr, 10));
  store::SettleOrder done;
  done.id = delivery.event.id;
  done.to = "billing";
  done.attempt = delivery.event.deliveries[delivery.at].attempt;
  done.state = store::DeliveryState::done;
  done.status = 200;
  done.retain_ended = 24 * hour;
  must(co_await inbox->settle(std::move(done)));
  lane.at_work = 0;
  --*left;
}

// One life of the store, until all is delivered or it is killed.
void live(const World& world) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  const steady_clock::time_point began = steady_clock::now();
  store::CapableStore opened = open_store(world.folder, *clock);
  boost::asio::io_context context{1};
  adopt(context, *opened.inbox);
  const auto opening = static_cast<std::uint64_t>(1'000 * seconds_since(began));
  world.shared->opening_ms = std::max(world.shared->opening_ms.load(), opening);
  for (;;) {
    const store::TakeOrder order{.to = "billing", .limit = at_once};
    store::TakenDeliveries taken = must(test::run(context, opened.inbox->take(order)));
    if (taken.deliveries.empty()) break;
    std::size_t left = taken.deliveries.size();
    for (store::TakenDelivery& each : taken.deliveries) {
      boost::asio::co_spawn(context, deliver(&world, opened.inbox, std::move(each), &left), boost::asio::detached);
    }
    context.restart();
    while (left > 0) context.run_one();
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  world.shared->memory_kib = static_cast<std::uint64_t>(usage.ru_maxrss);
  world.shared->ended = true;
}

int judge(const World& world, std::uint64_t kills) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  store::CapableStore opened = open_store(world.folder, *clock);
  boost::asio::io_context context{1};
  int failures = 0;
  const std::uint64_t all = events_each * world.lanes.size();
  const std::uint64_t calls = world.shared->calls;
  expect(world.shared->out_of_order == 0, std::to_string(world.shared->out_of_order) + " out of order", failures);
  const bool whole = std::ranges::all_of(world.lanes, [](const Lane& lane) { return lane.begun == events_each; });
  expect(whole, "some were not delivered", failures);
  expect(calls >= all && calls <= all + kills * at_once, std::to_string(calls) + " deliveries", failures);
  for (const store::DeliveryTally& tally : must(test::run(context, opened.inbox_desk->status()))) {
    expect(tally.unaccounted() == 0, "unaccounted for", failures);
    expect(tally.by_state.at(static_cast<std::size_t>(store::DeliveryState::done)) == all, "the states", failures);
  }
  std::printf("%llu deliveries, %llu of them again because a kill cut them; opened in at most %.2f s; %llu MiB\n",
              static_cast<unsigned long long>(calls), static_cast<unsigned long long>(calls - all),
              static_cast<double>(world.shared->opening_ms) / 1'000,
              static_cast<unsigned long long>(world.shared->memory_kib / 1'024));
  return failures == 0 ? 0 : 1;
}

int run(std::uint64_t lanes, std::uint64_t kills, const std::filesystem::path& folder) {
  World world{.folder = folder, .shared = nullptr, .lanes = {}, .life = 0};
  world.shared = new (shared_memory(sizeof(Shared))) Shared;
  world.lanes = {static_cast<Lane*>(shared_memory(lanes * sizeof(Lane))), lanes};
  steady_clock::time_point began = steady_clock::now();
  in_a_process([&] { prepare(world); }, {});
  const std::uint64_t events = events_each * lanes;
  std::printf("%llu events of %llu objects in %.1f s\n", static_cast<unsigned long long>(events),
              static_cast<unsigned long long>(lanes), seconds_since(began));
  began = steady_clock::now();
  const auto life = [&] {
    world.life = ++world.shared->lives;
    live(world);
  };
  const std::uint64_t killed = live_and_die(life, kills, events, [&] { return world.shared->calls.load(); });
  const double took = seconds_since(began);
  std::printf("delivered in %.1f s, %.0f a second, with %llu kills\n", took, static_cast<double>(events) / took,
              static_cast<unsigned long long>(killed));
  const int code = world.shared->ended ? judge(world, killed) : 1;
  return killed < kills ? 1 : code;
}

}  // namespace
}  // namespace semel::faults

int main(int argc, char** argv) {
  return semel::faults::main_of(argc, argv, "LANES", semel::faults::run);
}
