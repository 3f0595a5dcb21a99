// What a claim and its completion cost on the PostgreSQL store.
//
//   postgres_bench URL CALLERS[,CALLERS…] ROUNDS MS [CONNECTIONS]   one JSON object
//   postgres_bench soak URL KEYS RATE TTL_MS                         a JSON object for each twentieth of the keys
//
// A pair is a claim of a new key and its completion with 512 bytes, both durable. The database at URL must have been
// prepared with `semel migrate`. bench/run runs the first beside pgbench on a server of its own, bench/soak the second.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/wait_traits.hpp>

#include <semel/async.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace {

using namespace semel;
using Steady = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "postgres_bench: %s\n", why.c_str());
  std::exit(1);
}

template <class T>
T need(Result<T> result) {
  if (!result) give_up(result.error().detail);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

struct Load {
  Store& store;
  SharedResponse response;
  std::uint64_t state;
  Steady::time_point until;
  std::vector<double> pair_ms{};

  std::uint64_t mix() {
    std::uint64_t z = state += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  Key next_key() {
    Key key{.id = {}, .scope = {}, .space = "bench"};
    for (std::size_t at = 0; at < key.id.size(); at += sizeof(std::uint64_t)) {
      const std::uint64_t word = mix();
      std::memcpy(key.id.data() + at, &word, sizeof(word));
    }
    return key;
  }
};

Task<void> caller(Load* load) {
  while (Steady::now() < load->until) {
    const auto begun = Steady::now();
    const Key key = load->next_key();
    const Fingerprint fingerprint;
    const Terms terms{.owner = load->mix()};
    Result<Claim> claim = co_await load->store.claim(key, fingerprint, terms);
    const Claim got = need(std::move(claim));
    const Fence fence = std::get<Granted>(got).fence;
    Result<void> completed = co_await load->store.complete(key, fence, load->response);
    need(std::move(completed));
    load->pair_ms.push_back(std::chrono::duration<double, std::milli>(Steady::now() - begun).count());
  }
}

// Keys at a steady rate, and what has expired is swept meanwhile.
struct Soak {
  Store& store;
  SharedResponse response;
  std::uint64_t keys_max;
  double rate;
  Millis ttl;
  Steady::time_point start = Steady::now();
  Steady::time_point told = start;
  std::uint64_t next = 0;
  std::uint64_t done = 0;
  std::vector<double> claim_ms{};

  void note(double ms) {
    claim_ms.push_back(ms);
    ++done;
    if (claim_ms.size() < std::max<std::uint64_t>(keys_max / 20, 1)) return;
    std::ranges::sort(claim_ms);
    const auto last = static_cast<double>(claim_ms.size() - 1);
    const Seconds spent = Steady::now() - told;
    std::printf("{\"keys\": %llu, \"rate\": %.1f, \"p50_ms\": %.3f, \"p99_ms\": %.3f}\n",
                static_cast<unsigned long long>(done), static_cast<double>(claim_ms.size()) / spent.count(),
                claim_ms[static_cast<std::size_t>(last * 0.5)], claim_ms[static_cast<std::size_t>(last * 0.99)]);
    std::fflush(stdout);
    claim_ms.clear();
    told = Steady::now();
  }
};

Task<void> wait_until(Steady::time_point due) {
  const auto executor = co_await boost::asio::this_coro::executor;
  boost::asio::basic_waitable_timer<Steady, boost::asio::wait_traits<Steady>, Executor> timer(executor, due);
  const boost::asio::use_awaitable_t<Executor> token;
  co_await timer.async_wait(token);
}

Task<void> soaker(Soak* soak, Load* keys) {
  while (soak->next < soak->keys_max) {
    const auto after = Seconds(static_cast<double>(soak->next++) / soak->rate);
    const auto due = soak->start + std::chrono::duration_cast<Steady::duration>(after);
    if (due > Steady::now()) co_await wait_until(due);
    const Key key = keys->next_key();
    const Fingerprint fingerprint;
    const Terms terms{.lease = Millis{600'000}, .ttl = soak->ttl, .owner = keys->mix()};
    const auto begun = Steady::now();
    Result<Claim> claim = co_await soak->store.claim(key, fingerprint, terms);
    const double took = std::chrono::duration<double, std::milli>(Steady::now() - begun).count();
    const Claim got = need(std::move(claim));
    const Fence fence = std::get<Granted>(got).fence;
    Result<void> completed = co_await soak->store.complete(key, fence, soak->response);
    need(std::move(completed));
    soak->note(took);
  }
}

Task<void> sweeper(Soak* soak) {
  while (soak->done < soak->keys_max) {
    const auto due = Steady::now() + std::chrono::seconds(1);
    co_await wait_until(due);
    Result<std::size_t> swept = co_await soak->store.sweep(100'000);
    need(std::move(swept));
  }
}

SharedResponse typical_response() {
  auto response = std::make_shared<Response>();
  response->status = 201;
  response->fields = {{"Content-Type", "application/json"}};
  response->body = std::string(512, 'x');
  return response;
}

void measure(Store& store, std::size_t callers, Seconds span, const char* separator) {
  const auto seed = static_cast<std::uint64_t>(Steady::now().time_since_epoch().count());
  Load load{.store = store, .response = typical_response(), .state = seed, .until = {}};
  boost::asio::io_context context(1);
  const auto start = Steady::now();
  load.until = start + std::chrono::duration_cast<Steady::duration>(span);
  for (std::size_t i = 0; i < callers; ++i) {
    boost::asio::co_spawn(context.get_executor(), caller(&load), [](const std::exception_ptr& error) {
      if (error) std::rethrow_exception(error);
    });
  }
  context.run();
  const Seconds spent = Steady::now() - start;
  std::vector<double>& times = load.pair_ms;
  std::ranges::sort(times);
  const auto at = [&](double share) {
    return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
  };
  std::printf("%s\n  {\"callers\": %zu, \"pairs_per_s\": %.1f, \"p50_ms\": %.3f, \"p99_ms\": %.3f}", separator, callers,
              static_cast<double>(times.size()) / spent.count(), at(0.5), at(0.99));
}

int soak(const std::vector<std::string>& args) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  const PostgresOptions options{.urls = {args[1]}, .time_max = Millis{600'000}};
  const std::unique_ptr<Store> store = need(open_postgres_store(*clock, options)).store;
  Soak soak{.store = *store,
            .response = typical_response(),
            .keys_max = std::stoull(args[2]),
            .rate = std::stod(args[3]),
            .ttl = Millis{std::stoll(args[4])}};
  Load keys{.store = *store, .response = nullptr, .state = 1, .until = {}};
  boost::asio::io_context context(1);
  const auto rethrow = [](const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  };
  for (int i = 0; i < 256; ++i) boost::asio::co_spawn(context.get_executor(), soaker(&soak, &keys), rethrow);
  boost::asio::co_spawn(context.get_executor(), sweeper(&soak), rethrow);
  context.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() == 5 && args[0] == "soak") return soak(args);
  if (args.size() != 4 && args.size() != 5) give_up("URL CALLERS[,CALLERS...] ROUNDS MS [CONNECTIONS]");
  const std::unique_ptr<Clock> clock = make_system_clock();
  PostgresOptions options{.urls = {args[0]}};
  if (args.size() == 5) options.connections = std::stoul(args[4]);
  const std::unique_ptr<Store> store = need(open_postgres_store(*clock, options)).store;
  std::printf("{\"rounds\": [");
  const char* separator = "";
  for (int round = 0; round < std::stoi(args[2]); ++round) {
    std::stringstream list(args[1]);
    for (std::string number; std::getline(list, number, ',');) {
      measure(*store, std::stoul(number), std::chrono::milliseconds(std::stoi(args[3])), separator);
      separator = ",";
    }
  }
  std::printf("]}\n");
  return 0;
}
