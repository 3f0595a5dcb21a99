// What tallies and the doctor cost a request.
//
//   notes_bench --benchmark_repetitions=9 --benchmark_report_aggregates_only=true
//
// Counted: a first run that the doctor is not told of, which is nearly every one under load. Told: the doctor is told
// of it, and a share of its own thread's work is included. The rule for both together with the sightings: 0.7 µs.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "telemetry/doctor.h"
#include "telemetry/doctor_note.h"
#include "telemetry/doctor_watch.h"
#include "telemetry/key_look.h"
#include "telemetry/notebook.h"
#include "telemetry/route_metrics.h"
#include "telemetry/tally.h"
#include "telemetry/tally_ledger.h"
#include <semel/clock.h>

namespace {

using namespace semel::telemetry;  // NOLINT(google-build-using-namespace): everything is from there

constexpr std::size_t prepared = 4'096;
constexpr std::string_view key_text = "8e03978e-40d5-43e8-bc93-6894a57f9324";

struct Traffic {
  std::vector<RequestTraits> requests;
  std::array<RouteMetrics, 4> routes{RouteMetrics("/a"), RouteMetrics("/b"), RouteMetrics("/c"), RouteMetrics("/d")};

  explicit Traffic(std::size_t scopes) {
    std::mt19937_64 random(1);
    for (std::size_t i = 0; i < prepared; ++i) {
      requests.push_back({.scope = (random() % scopes + 1) * 0x9e37'79b9'7f4a'7c15ULL,
                          .key = random(),
                          .fingerprint = random(),
                          .text = random()});
    }
  }
};

// As gateway/clue.cc does it.
template <class Tell>
void serve(const Traffic& traffic, const DoctorWatch& watch, Notebook& notebook, std::size_t at, const Tell& tell) {
  RequestTraits traits = traffic.requests[at % prepared];
  traits.text = std::hash<std::string_view>()(key_text);
  const DoctorWatch::Interest interest = watch.interest_in(traits);
  std::unique_ptr<Clue> clue;
  if (interest != DoctorWatch::Interest::none) {
    clue = std::make_unique<Clue>();
    clue->traits = traits;
    clue->look = look_at_key(key_text, semel::Time{std::chrono::hours(500'000)});
  }
  const RouteMetrics& route = traffic.routes[at % traffic.routes.size()];
  const TallyOutcome outcome = tally_outcome(Ending::ran, std::nullopt, {});
  notebook.tallies.add(route, outcome, traits.scope, std::chrono::microseconds(700 + at % 512));
  if (clue != nullptr) tell(route, *clue);
}

// The number of scopes: few, as many as there are places, and so many that most are new.
void counted(benchmark::State& state) {
  const Traffic traffic(static_cast<std::size_t>(state.range(0)));
  DoctorWatch watch;
  watch.set_mask(~std::uint64_t{0} >> 1U);
  watch.set_late_mask(~std::uint64_t{0} >> 1U);
  Notebook notebook;
  TallyLedger ledger(1);
  std::size_t at = 0;
  for (auto _ : state) {
    serve(traffic, watch, notebook, at, [](const RouteMetrics&, const Clue&) {});
    if (++at % 20'000 == 0) ledger.take(notebook.tallies, semel::Time{std::chrono::hours(500'000)});
  }
}
BENCHMARK(counted)->Arg(10)->Arg(1'000)->Arg(1'000'000);

void told(benchmark::State& state) {
  const Traffic traffic(static_cast<std::size_t>(state.range(0)));
  DoctorWatch watch;
  Doctor doctor(watch);
  Notebook notebook;
  TallyLedger ledger(1);
  std::size_t at = 0;
  const semel::Time now{std::chrono::hours(500'000)};
  for (auto _ : state) {
    const auto tell = [&](const RouteMetrics& route, const Clue& clue) {
      DoctorNote note{.route = &route, .traits = clue.traits, .at = now, .ended = now};
      note.by_request = true;
      note.status = 201;
      note.look = clue.look;
      notebook.add(std::move(note));
    };
    serve(traffic, watch, notebook, at, tell);
    if (++at % 2'000 != 0) continue;
    ledger.take(notebook.tallies, now);
    for (const DoctorNote& note : notebook.notes) doctor.examine(note);
    notebook.notes.clear();
  }
}
BENCHMARK(told)->Arg(10)->Arg(1'000)->Arg(1'000'000);

}  // namespace

BENCHMARK_MAIN();
