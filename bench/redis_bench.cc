// What a claim and its completion cost on the Redis store, and what the same two writes cost without a store.
//
//   redis_bench store URL CALLERS MS REPLICAS   the store, which waits for so many replicas
//   redis_bench plain URL CALLERS MS            SET NX PX and SET, pipelined: as many of them under way as there are
//   callers
//
// A pair is a claim of a new key and its completion with 512 bytes. Prints one JSON object. The server at URL must have
// been prepared with `semel migrate`. bench/redis.py runs both in turn.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <sys/poll.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "core/redis_url.h"
#include "store/capable_store.h"
#include "store/redis/admin.h"
#include "store/redis/connection.h"
#include "store/redis/layout.h"
#include "store/redis/options.h"
#include "store/redis/resp.h"
#include <semel/async.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace {

using namespace semel;
using Steady = std::chrono::steady_clock;

constexpr std::size_t connections = 2;  // as many as the store has

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "redis_bench: %s\n", why.c_str());
  std::exit(1);
}

template <class T>
T need(Result<T> result) {
  if (!result) give_up(result.error().detail);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

double spent_us(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return (static_cast<double>(time.tv_sec) * 1e6) + (static_cast<double>(time.tv_nsec) / 1e3);
}

double since_ms(Steady::time_point begun) {
  return std::chrono::duration<double, std::milli>(Steady::now() - begun).count();
}

// Keys that nobody has used, and bytes that do not compress.
class Chance {
 public:
  std::uint64_t number() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  Key key() {
    Key key{.id = {}, .scope = {}, .space = "bench"};
    for (std::size_t at = 0; at < key.id.size(); at += sizeof(std::uint64_t)) {
      const std::uint64_t word = number();
      std::memcpy(key.id.data() + at, &word, sizeof(word));
    }
    return key;
  }
  std::string bytes(std::size_t size) {
    std::string bytes(size, '\0');
    for (char& each : bytes) each = static_cast<char>(number());
    return bytes;
  }

 private:
  std::uint64_t state_ = static_cast<std::uint64_t>(Steady::now().time_since_epoch().count());
};

struct Measured {
  Steady::time_point until;
  Chance chance{};
  std::vector<double> claim_ms{};
  std::size_t pairs = 0;
};

void print(Measured& measured, double seconds, double process_us, double driver_us) {
  std::ranges::sort(measured.claim_ms);
  const auto pairs = static_cast<double>(measured.pairs);
  std::printf(
      "{\"pairs\": %zu, \"pairs_per_s\": %.1f, \"claim_p50_ms\": %.4f, \"own_us\": %.3f, \"driver_us\": %.3f}\n",
      measured.pairs, pairs / seconds, measured.claim_ms.at(measured.claim_ms.size() / 2), process_us / pairs,
      driver_us / pairs);
}

Task<void> caller(Measured* measured, Store* store, SharedResponse response) {
  while (Steady::now() < measured->until) {
    const Key key = measured->chance.key();
    const Fingerprint fingerprint;
    const Terms terms{.owner = measured->chance.number()};
    const auto begun = Steady::now();
    Result<Claim> claim = co_await store->claim(key, fingerprint, terms);
    const Claim got = need(std::move(claim));
    measured->claim_ms.push_back(since_ms(begun));
    const Fence fence = std::get<Granted>(got).fence;
    Result<void> completed = co_await store->complete(key, fence, response);
    need(std::move(completed));
    ++measured->pairs;
  }
}

// The driver is every thread but this one, on which the callers run.
void run_store(const std::string& url, std::size_t callers, std::chrono::milliseconds span, std::size_t replicas) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  store::redis::RedisOptions options{.url = url, .replicas = replicas, .fsync = core::RedisFsync::everysec};
  const store::CapableStore opened = need(store::redis::open_with_keys(*clock, options, {}));
  Measured measured{.until = {}};
  auto response = std::make_shared<Response>();
  response->status = 201;
  response->fields = {{"Content-Type", "application/json"}};
  response->body = measured.chance.bytes(512);
  boost::asio::io_context context(1);
  const auto begun = Steady::now();
  const double process_us = spent_us(CLOCK_PROCESS_CPUTIME_ID);
  const double callers_us = spent_us(CLOCK_THREAD_CPUTIME_ID);
  measured.until = begun + span;
  for (std::size_t i = 0; i < callers; ++i) {
    boost::asio::co_spawn(context.get_executor(), caller(&measured, opened.store.get(), response),
                          [](const std::exception_ptr& error) {
                            if (error) std::rethrow_exception(error);
                          });
  }
  context.run();
  const double all = spent_us(CLOCK_PROCESS_CPUTIME_ID) - process_us;
  const double driver = all - (spent_us(CLOCK_THREAD_CPUTIME_ID) - callers_us);
  print(measured, since_ms(begun) / 1e3, all, driver);
}

// A connection with its share of the keys: all are claimed, then all are completed, then there are others.
struct PlainPipe {
  store::redis::RedisConnection connection;
  std::vector<std::string> names{};
  std::vector<store::redis::RespValue> replies{};
  bool claiming = false;
  Steady::time_point begun{};
};

void send_next(PlainPipe& pipe, std::size_t depth, Measured& measured, std::string_view record,
               std::string_view finished) {
  pipe.claiming = !pipe.claiming;
  pipe.replies.clear();
  std::string out;
  if (pipe.claiming) {
    pipe.names.clear();
    for (std::size_t i = 0; i < depth; ++i) {
      pipe.names.push_back(store::redis::record_name(measured.chance.key().id));
      store::redis::append_command(out, {"SET", pipe.names.back(), record, "NX", "PX", "86400000"});
    }
  } else {
    for (const std::string& name : pipe.names) {
      store::redis::append_command(out, {"SET", name, finished, "PX", "86400000"});
    }
  }
  pipe.begun = Steady::now();
  pipe.connection.queue(out);
  need(pipe.connection.advance(pipe.replies));
}

void run_plain(const std::string& text, std::size_t callers, std::chrono::milliseconds span) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  const core::RedisUrl url = need(core::parse_redis_url(text));
  const core::RedisHost host = url.hosts.empty() ? core::RedisHost{} : url.hosts.front();
  const std::size_t count = std::min(connections, callers);
  const std::size_t depth = callers / count;
  Measured measured{.until = Steady::now() + span};
  const std::string record = measured.chance.bytes(102);
  const std::string finished = record + measured.chance.bytes(600);
  std::vector<PlainPipe> pipes;
  for (std::size_t i = 0; i < count; ++i) {
    pipes.push_back({.connection = need(store::redis::RedisConnection::open(*clock, url, host, Millis{5'000}))});
  }
  const auto begun = Steady::now();
  const double process_us = spent_us(CLOCK_PROCESS_CPUTIME_ID);
  for (PlainPipe& pipe : pipes) send_next(pipe, depth, measured, record, finished);
  while (Steady::now() < measured.until) {
    std::array<pollfd, connections> sockets{};
    for (std::size_t i = 0; i < count; ++i) {
      const auto events = static_cast<short>(pipes[i].connection.has_unsent() ? POLLIN | POLLOUT : POLLIN);
      sockets.at(i) = {.fd = pipes[i].connection.descriptor(), .events = events, .revents = 0};
    }
    ::poll(sockets.data(), count, 1'000);
    for (PlainPipe& pipe : pipes) {
      need(pipe.connection.advance(pipe.replies));
      if (pipe.replies.size() < depth) continue;
      for (const auto& reply : pipe.replies) {
        if (reply.text != "OK") give_up("a plain write was answered with " + reply.text);
      }
      if (pipe.claiming) measured.claim_ms.push_back(since_ms(pipe.begun));
      if (!pipe.claiming) measured.pairs += depth;
      send_next(pipe, depth, measured, record, finished);
    }
  }
  const double all = spent_us(CLOCK_PROCESS_CPUTIME_ID) - process_us;
  print(measured, since_ms(begun) / 1e3, all, all);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() < 4) give_up("store URL CALLERS MS REPLICAS | plain URL CALLERS MS");
  const std::size_t callers = std::stoul(args[2]);
  const std::chrono::milliseconds span(std::stoi(args[3]));
  if (args[0] == "plain") {
    run_plain(args[1], callers, span);
  } else {
    run_store(args[1], callers, span, args.size() > 4 ? std::stoul(args[4]) : 0);
  }
  return 0;
}
