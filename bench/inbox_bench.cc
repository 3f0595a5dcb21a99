// What an inbox on the embedded store costs when much waits in it.
//
//   inbox_bench fill PATH EVENTS LANES      accepts EVENTS that wait, of LANES objects in order (0: in no order)
//   inbox_bench settle PATH                 opens it and waits until the engine has tidied up
//   inbox_bench drain PATH COUNT            opens it, takes COUNT deliveries and settles them as done
//
// Prints one JSON object. `open_s` is from nothing to the first delivery that can be taken: opening the store, and
// adopting what its last process left. CPU time is all that the process used between the first and the last delivery.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <sys/resource.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "core/event_id.h"
#include "store/capable_store.h"
#include "store/embedded/store.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/stores.h>

namespace {

using namespace semel;
using Steady = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::size_t senders = 512;
constexpr std::size_t take_limit = 256;
constexpr Millis day{86'400'000};

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "inbox_bench: %s\n", why.c_str());
  std::exit(1);
}

template <class T>
T need(Result<T> result) {
  if (!result) give_up(result.error().detail);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double rss_mebibytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  }
  return 0;
}

std::uint64_t mixed(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

void pass_on(const std::exception_ptr& error) {
  if (error) std::rethrow_exception(error);
}

struct Bench {
  std::unique_ptr<Clock> clock = make_system_clock();
  store::CapableStore opened;
  boost::asio::io_context context{1};

  explicit Bench(const std::string& path) {
    EmbeddedOptions options;
    options.path = path;
    opened = need(store::embedded::open_with_keys(*clock, options, {}));
  }

  template <class Work>
  void run(Work&& work) {
    boost::asio::co_spawn(context.get_executor(), std::forward<Work>(work), pass_on);
  }
  void wait() {
    context.run();
    context.restart();
  }
};

// ---- filling --------------------------------------------------------------------------------------------------------

struct Filling {
  store::Inbox& inbox;
  std::size_t events;
  std::size_t lanes;
  std::uint64_t seed;
  std::size_t next = 0;
};

store::AcceptOrder event_of(const Filling& filling, std::size_t number) {
  store::AcceptOrder order;
  order.key.space = "webhook:/bench";
  for (std::size_t at = 0; at < order.key.id.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = mixed(filling.seed + number * 4 + at / sizeof(std::uint64_t));
    std::memcpy(order.key.id.data() + at, &word, sizeof(word));
  }
  order.ttl = 7 * day;
  order.owner = mixed(number);
  order.source = "/webhooks/stripe";
  order.type = "invoice.paid";
  order.to.push_back({.name = "billing", .room = false, .skipped_by = {}});
  if (filling.lanes > 0) {
    const std::uint64_t object = mixed(number % filling.lanes);
    order.line.kind = store::Line::Kind::fifo;
    std::memcpy(order.line.object.data(), &object, sizeof(object));
    char stamp[32];
    order.line.stamp.assign(stamp, static_cast<std::size_t>(std::snprintf(stamp, sizeof(stamp), "%015zu", number)));
  }
  order.depth_max = order.bytes_max = UINT64_MAX;
  order.retain_ended = 3 * day;
  return order;
}

Task<void> sender(Filling* filling, std::shared_ptr<const store::Parcel> parcel) {
  while (filling->next < filling->events) {
    store::AcceptOrder order = event_of(*filling, filling->next++);
    order.parcel = parcel;
    store::AcceptReply reply = [](const core::EventId& id, const Key&, const Fence&) {
      return std::make_shared<const Response>(
          Response{.status = 200, .fields = {{.name = "Semel-Event", .value = id.text()}}, .body = {}});
    };
    Result<store::Acceptance> accepted = co_await filling->inbox.accept(std::move(order), std::move(reply));
    const store::Acceptance taken = need(std::move(accepted));
    if (!std::holds_alternative<store::AcceptedEvent>(taken)) give_up("an event was not accepted");
  }
}

Task<void> adopt_all(store::Inbox* inbox) {
  for (std::size_t left = 1; left > 0;) {
    store::AdoptOrder order{.limit = 500, .rest = Millis{0}, .holding = {}};
    Result<std::size_t> adopted = co_await inbox->adopt(std::move(order));
    left = need(std::move(adopted));
  }
}

int fill(const std::string& path, std::size_t events, std::size_t lanes) {
  Bench bench(path);
  bench.run(adopt_all(bench.opened.inbox));
  bench.wait();
  const auto parcel = std::make_shared<const store::Parcel>(store::Parcel{
      .status = 200, .fields = {{.name = "Content-Type", .value = "application/json"}}, .body = std::string(100, 'x')});
  const auto seed = static_cast<std::uint64_t>(Steady::now().time_since_epoch().count());
  Filling filling{.inbox = *bench.opened.inbox, .events = events, .lanes = lanes, .seed = seed};
  const auto start = Steady::now();
  const double cpu = cpu_seconds();
  for (std::size_t i = 0; i < senders; ++i) bench.run(sender(&filling, parcel));
  bench.wait();
  const Seconds spent = Steady::now() - start;
  std::printf("{\"filled\": %zu, \"per_s\": %.0f, \"cpu_us\": %.2f, \"rss_mib\": %.1f}\n", events,
              static_cast<double>(events) / spent.count(), (cpu_seconds() - cpu) * 1e6 / static_cast<double>(events),
              rss_mebibytes());
  return 0;
}

// The engine goes on compacting what was put in.
int settle(const std::string& path) {
  Bench bench(path);
  for (int quiet = 0; quiet < 3;) {
    const double before = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    quiet = cpu_seconds() - before < 0.02 ? quiet + 1 : 0;
  }
  std::printf("{\"settled\": true}\n");
  return 0;
}

// ---- draining -------------------------------------------------------------------------------------------------------

struct Draining {
  store::Inbox& inbox;
  Executor executor;
  std::size_t wanted;
  std::size_t taken = 0;
  std::size_t ended = 0;
  bool taking = false;
};

Task<void> take_some(Draining* draining);

// Takes more when half of the room is free, as a dispatcher with room for so many does under load.
void go_on(Draining* draining) {
  const std::size_t running = draining->taken - draining->ended;
  if (draining->taking || draining->taken == draining->wanted || running > take_limit / 2) return;
  draining->taking = true;
  boost::asio::co_spawn(draining->executor, take_some(draining), pass_on);
}

// One delivery, with its body read as the dispatcher does.
Task<void> deliver(Draining* draining, store::TakenDelivery delivery) {
  Result<std::optional<store::Parcel>> parcel = co_await draining->inbox.load(delivery.event.id);
  if (!need(std::move(parcel))) give_up("a body is missing");
  store::SettleOrder order;
  order.id = delivery.event.id;
  order.to = delivery.event.deliveries[delivery.at].to;
  order.attempt = delivery.event.deliveries[delivery.at].attempt;
  order.status = 200;
  order.why = "answered 200";
  order.retain_ended = 3 * day;
  Result<void> settled = co_await draining->inbox.settle(std::move(order));
  need(std::move(settled));
  ++draining->ended;
  go_on(draining);
}

Task<void> take_some(Draining* draining) {
  const std::size_t room = take_limit - (draining->taken - draining->ended);
  store::TakeOrder order{.to = "billing", .limit = std::min(room, draining->wanted - draining->taken)};
  order.retain_ended = day;
  Result<store::TakenDeliveries> taken = co_await draining->inbox.take(std::move(order));
  store::TakenDeliveries got = need(std::move(taken));
  if (got.deliveries.empty() && draining->taken == draining->ended) give_up("less waits than is to be drained");
  draining->taken += got.deliveries.size();
  draining->taking = false;
  for (store::TakenDelivery& delivery : got.deliveries) {
    boost::asio::co_spawn(draining->executor, deliver(draining, std::move(delivery)), pass_on);
  }
}

int drain(const std::string& path, std::size_t count) {
  const auto begun = Steady::now();
  Bench bench(path);
  bench.run(adopt_all(bench.opened.inbox));
  bench.wait();
  const Seconds opened = Steady::now() - begun;
  const double open_cpu = cpu_seconds();
  const double memory_at_first = rss_mebibytes();

  Draining draining{.inbox = *bench.opened.inbox, .executor = bench.context.get_executor(), .wanted = count};
  const auto start = Steady::now();
  const double cpu = cpu_seconds();
  go_on(&draining);
  bench.wait();
  if (draining.ended != count) give_up("only " + std::to_string(draining.ended) + " were drained");
  const Seconds spent = Steady::now() - start;
  const double used = cpu_seconds() - cpu;
  std::printf(
      "{\"open_s\": %.3f, \"open_cpu_s\": %.3f, \"drained\": %zu, \"per_s\": %.0f, \"cpu_us\": %.2f, \"rss_open_mib\": "
      "%.1f, \"rss_mib\": "
      "%.1f}\n",
      opened.count(), open_cpu, count, static_cast<double>(count) / spent.count(),
      used * 1e6 / static_cast<double>(count), memory_at_first, rss_mebibytes());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() == 4 && args[0] == "fill") return fill(args[1], std::stoul(args[2]), std::stoul(args[3]));
  if (args.size() == 2 && args[0] == "settle") return settle(args[1]);
  if (args.size() == 3 && args[0] == "drain") return drain(args[1], std::stoul(args[2]));
  give_up("fill PATH EVENTS LANES | settle PATH | drain PATH COUNT");
}
