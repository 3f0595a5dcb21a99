// What once() costs above its store: the memory store, one thread, an action that does nothing.
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <semel/blocking_once.h>
#include <semel/clock.h>
#include <semel/once.h>
#include <semel/stores.h>

namespace {

semel::Key key_of(std::uint64_t number) {
  semel::Key key;
  key.space = "bench";
  for (std::size_t i = 0; i < 8; ++i)
    key.id[i] = static_cast<std::uint8_t>((number * 0x9e3779b97f4a7c15ULL) >> (8 * i));
  for (std::size_t i = 0; i < 8; ++i) key.id[8 + i] = static_cast<std::uint8_t>(number >> (8 * i));
  return key;
}

const semel::SharedResponse answer = std::make_shared<const semel::Response>();

semel::Task<semel::Outcome> act(semel::Fence) {
  co_return semel::Outcome{.verdict = semel::Verdict::keep, .response = answer};
}

// All calls of one benchmark in one coroutine, as a server's session would make them.
semel::Task<void> run_all(semel::Once* once, std::uint64_t first, std::uint64_t count, std::uint64_t step) {
  for (std::uint64_t i = 0; i < count; ++i) {
    semel::Action action = act;
    const semel::Answer got =
        co_await once->run(key_of(first + i * step), semel::Fingerprint(), semel::Policy(), std::move(action));
    benchmark::DoNotOptimize(got);
  }
}

constexpr std::uint64_t calls = 1'000;

void measure(benchmark::State& state, std::uint64_t step) {
  const auto clock = semel::make_system_clock();
  const auto opened = semel::make_memory_store(*clock);
  semel::Once once(*opened.store, *clock, 1);
  boost::asio::io_context context(1);
  std::uint64_t first = 0;
  for (auto _ : state) {
    boost::asio::co_spawn(context, run_all(&once, first, calls, step), boost::asio::detached);
    context.run();
    context.restart();
    first += calls * step;
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(calls));
}

void FirstRun(benchmark::State& state) {
  measure(state, 1);
}
void Replay(benchmark::State& state) {
  measure(state, 0);
}

void BlockingFirstRun(benchmark::State& state) {
  const auto clock = semel::make_system_clock();
  const auto opened = semel::make_memory_store(*clock);
  semel::BlockingOnce once(*opened.store, *clock, 1);
  std::uint64_t number = 0;
  for (auto _ : state) {
    const auto action = [](semel::Fence) {
      return semel::Outcome{.verdict = semel::Verdict::keep, .response = answer};
    };
    benchmark::DoNotOptimize(once.run(key_of(number++), semel::Fingerprint(), semel::Policy(), action));
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(FirstRun)->Iterations(50);
BENCHMARK(Replay)->Iterations(50);
BENCHMARK(BlockingFirstRun)->Iterations(20'000);

}  // namespace

BENCHMARK_MAIN();
