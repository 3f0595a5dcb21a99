// What a request pays for being seen: its sighting in memory, its shape, and the question whether somebody watches.
//
//   sightings_bench --benchmark_repetitions=9 --benchmark_report_aggregates_only=true
//
// The rule: Sighting + Shape + Unwatched, which is all that the thread of a request does, take at most 0.35 µs
// together. Row is what the scribe's own thread does for each attempt, and Repeat for each repeat.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/shape.h"
#include "telemetry/log_line.h"
#include "telemetry/route_metrics.h"
#include "telemetry/shapes.h"
#include "telemetry/sighting.h"
#include "telemetry/sighting_rows.h"
#include "telemetry/tail.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>

namespace {

using semel::Digest;
namespace telemetry = semel::telemetry;

constexpr std::size_t keys = 10'000;  // a second's worth of a busy thread

Digest id_of(std::uint64_t number) {
  Digest id{};
  number *= 0x9e3779b97f4a7c15ULL;
  for (std::size_t at = 0; at < id.size(); at += sizeof(number)) {
    std::memcpy(id.data() + at, &number, sizeof(number));
    number = number * 6364136223846793005ULL + 1;
  }
  return id;
}

const std::vector<Digest>& ids() {
  static const std::vector<Digest> made = [] {
    std::vector<Digest> all;
    for (std::size_t i = 0; i < keys; ++i) all.push_back(id_of(i + 1));
    return all;
  }();
  return made;
}

telemetry::Sighting sighting(const Digest& id) {
  return {.id = id,
          .at = semel::Time(semel::Millis(1'700'000'000'000)),
          .fence = 1,
          .shape = {.bits = 0x1234'5678'9abc'def1},
          .time = std::chrono::microseconds(900),
          .upstream_time = std::chrono::microseconds(700),
          .status = 201,
          .upstream_status = 201,
          .ending = telemetry::Ending::ran,
          .upstream = "app",
          .route = "/v1/payments/*",
          .client = "203.0.113.42",
          .agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Shop/4.2"};
}

// Another thread takes them once a second; here after as many as come in a second, outside the time.
void BM_Sighting(benchmark::State& state) {
  telemetry::SightingBuffer buffer;
  std::string taken;
  std::size_t at = 0;
  for (auto _ : state) {
    buffer.add(sighting(ids()[at]));
    if (++at < keys) continue;
    at = 0;
    state.PauseTiming();
    buffer.hand_over();
    buffer.take(taken);
    state.ResumeTiming();
  }
}
BENCHMARK(BM_Sighting);

void BM_Shape(benchmark::State& state) {
  telemetry::Shapes shapes;
  std::size_t at = 0;
  for (auto _ : state) {
    shapes.put({.digest = ids()[at]}, {.bits = at * 2 + 1});
    at = (at + 1) % keys;
  }
}
BENCHMARK(BM_Shape);

void BM_Unwatched(benchmark::State& state) {
  telemetry::Tail tail;
  for (auto _ : state) benchmark::DoNotOptimize(tail.watched());
}
BENCHMARK(BM_Unwatched);

telemetry::LogEntry entry(const semel::Key& key) {
  telemetry::LogEntry entry;
  entry.at = semel::Time(semel::Millis(1'700'000'000'123));
  entry.method = "POST";
  entry.path = "/v1/payments/7";
  entry.route = "/v1/payments/*";
  entry.outcome = "ran";
  entry.status = 201;
  entry.key = &key;
  entry.fence = 1;
  entry.client = "203.0.113.42";
  entry.agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Shop/4.2";
  return entry;
}

// One watcher who wants every line.
void BM_Watched(benchmark::State& state) {
  telemetry::Tail tail;
  const auto watcher = tail.watch({});
  const semel::Key key{.id = ids()[0], .scope = {}, .space = {}};
  const telemetry::LogEntry line = entry(key);
  std::size_t count = 0;
  for (auto _ : state) {
    tail.offer(line);
    if (++count % 1'000 == 0) benchmark::DoNotOptimize(watcher->take());
  }
}
BENCHMARK(BM_Watched);

void BM_LogLine(benchmark::State& state) {
  telemetry::LogLine writer;
  const semel::Key key{.id = ids()[0], .scope = {}, .space = {}};
  const telemetry::LogEntry line = entry(key);
  std::string out;
  for (auto _ : state) {
    out.clear();
    writer.write(out, line);
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(BM_LogLine);

void rows(benchmark::State& state, std::string_view upstream) {
  telemetry::SightingRows rows("host:4711");
  const auto same = [](const Digest& id) { return id; };
  std::size_t at = 0;
  for (auto _ : state) {
    telemetry::Sighting seen = sighting(ids()[at]);
    seen.upstream = upstream;
    rows.add(seen);
    at = (at + 1) % keys;
    if (at % 900 == 0) benchmark::DoNotOptimize(rows.take(seen.at, same));
  }
}
void BM_Row(benchmark::State& state) {
  rows(state, "app");
}
BENCHMARK(BM_Row);
void BM_Repeat(benchmark::State& state) {
  rows(state, "");
}
BENCHMARK(BM_Repeat);

}  // namespace

BENCHMARK_MAIN();
