// inbox_fill_bench fill PATH EVENTS: puts so many events into the inbox of the embedded store at PATH, for
// bench/dashboard.py.
//
// Each is accepted and settled through the store, as a gateway does it. Of 100 deliveries to `app` 60 are done, 38 wait
// for tomorrow and 2 are dead letters, of five reasons. Prints one JSON object.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "core/event_id.h"
#include "store/capable_store.h"
#include "store/embedded/store.h"
#include "store/inbox.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/stores.h>

namespace {

using namespace semel;

constexpr std::size_t at_once = 2'048;
constexpr Millis day{86'400'000};
constexpr std::size_t body_bytes = 300;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "inbox_fill_bench: %s\n", why.c_str());
  std::exit(1);
}

template <class T>
T need(Result<T> result) {
  if (!result) give_up(result.error().detail);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

SharedResponse reply(const core::EventId& /*id*/, const Key& /*key*/, const Fence& /*fence*/) {
  return std::make_shared<const Response>(Response{.status = 200, .fields = {}, .body = {}});
}

store::AcceptOrder order_of(std::uint64_t number) {
  store::AcceptOrder order;
  const std::string text = "evt_" + std::to_string(number);
  order.key = need(make_key("webhook:/hooks/stripe", "/hooks/stripe", text));
  order.ttl = 7 * day;
  order.owner = number + 1;
  order.source = "/hooks/stripe";
  order.type = number % 3 == 0 ? "charge.failed" : "charge.paid";
  order.to.push_back({.name = "app", .room = true, .skipped_by = {}});
  std::string body = R"({"id":")" + text + R"(","padding":")";
  body.append(body_bytes, 'x').append("\"}");
  order.parcel =
      std::make_shared<const store::Parcel>(store::Parcel{.status = 200, .fields = {}, .body = std::move(body)});
  order.depth_max = UINT64_MAX;
  order.bytes_max = UINT64_MAX / 2;
  return order;
}

store::SettleOrder settlement_of(const core::EventId& id, std::uint64_t number) {
  store::SettleOrder order;
  order.id = id;
  order.to = "app";
  order.attempt = 1;
  order.status = 200;
  order.retain_ended = 7 * day;
  const std::uint64_t share = number % 100;
  if (share < 38) {
    order.state = store::DeliveryState::waiting;
    order.wait = day;
    order.status = 503;
    order.why = "503 Service Unavailable";
  } else if (share < 40) {
    order.state = store::DeliveryState::dead;
    order.status = 400;
    order.why = "field " + std::to_string(number % 5) + " is missing";
  }
  return order;
}

Task<void> pass_through(store::Inbox* inbox, std::uint64_t* next, std::uint64_t count) {
  while (*next < count) {
    const std::uint64_t number = (*next)++;
    store::AcceptOrder order = order_of(number);
    store::AcceptReply answer = &reply;
    Result<store::Acceptance> acceptance = co_await inbox->accept(std::move(order), std::move(answer));
    const store::Acceptance accepted = need(std::move(acceptance));
    store::SettleOrder settlement = settlement_of(std::get<store::AcceptedEvent>(accepted).id, number);
    Result<void> settled = co_await inbox->settle(std::move(settlement));
    need(std::move(settled));
  }
}

template <class Work>
void run(boost::asio::io_context& context, Work work) {
  boost::asio::co_spawn(context, std::move(work), [](const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  });
}

Task<void> adopt_all(store::Inbox* inbox) {
  for (;;) {
    store::AdoptOrder order{.limit = 1'000, .rest = Millis{0}, .holding = {}};
    Result<std::size_t> adopted = co_await inbox->adopt(std::move(order));
    if (need(std::move(adopted)) == 0) co_return;
  }
}

int fill(const std::filesystem::path& path, std::uint64_t count) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  EmbeddedOptions options;
  options.path = path;
  const store::CapableStore opened = need(store::embedded::open_with_keys(*clock, options, {}));
  boost::asio::io_context context(1);
  run(context, adopt_all(opened.inbox));
  context.run();
  context.restart();
  std::uint64_t next = 0;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < at_once; ++i) run(context, pass_through(opened.inbox, &next, count));
  context.run();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  std::printf("{\"events\": %llu, \"seconds\": %.1f}\n", static_cast<unsigned long long>(count), spent.count());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() == 3 && args[0] == "fill") return fill(args[1], std::stoull(args[2]));
  give_up("fill PATH EVENTS");
}
