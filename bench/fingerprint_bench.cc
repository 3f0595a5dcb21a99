// How much the canonical form costs on top of SHA-256, and whether anything grows faster than the body.
//
//   fingerprint_bench --benchmark_repetitions=9 --benchmark_report_aggregates_only=true
//
// The rule: Fingerprint/… of a typical body of 1 KiB takes at most four times as long as Sha256/… of the same bytes,
// and the time per byte of every shape stays level from 64 KiB to 1 MiB (objects: but for the logarithm of sorting).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <malloc.h>

#include <benchmark/benchmark.h>

#include "core/json/canonical.h"
#include "core/sha256.h"
#include <semel/fingerprint.h>

namespace {

// An order as a shop sends it: about 1 KiB, members in no particular order.
constexpr std::string_view typical =
    R"({"request_id":"5f0c8a52-9a3d-4c1e-8f77-2b6f0c9d41aa","order":{"id":"ord_20931884","channel":"web",)"
    R"("currency":"EUR","total":18990,"tax_rate":0.19,"placed_at":"2024-11-15T08:31:07.482Z","express":true,)"
    R"("coupon":null,"items":[{"sku":"TSH-0042-BLK-M","name":"T-shirt, black, M","quantity":2,"unit_price":2495,)"
    R"("discount":0},{"sku":"MUG-0007","name":"Mug \"Semel\"","quantity":1,"unit_price":1400,"discount":0.15},)"
    R"({"sku":"BAG-0103-NAT","name":"Tote bag","quantity":4,"unit_price":3150,"discount":0}]},"customer":)"
    R"({"id":"cus_7781240","email":"ines.muller@example.com","name":"Inés Müller","phone":"+49 30 5550 1234",)"
    R"("returning":true,"address":{"street":"Lindenallee 12","zip":"10115","city":"Berlin","country":"DE"}},)"
    R"("payment":{"method":"card","token":"tok_9mXcQpZ2Lw8VdKe4","brand":"visa","last4":"4242",)"
    R"("three_d_secure":{"required":true,"version":"2.2.0","eci":"05"}},"metadata":{"ip":"203.0.113.42",)"
    R"("agent":"Mozilla/5.0 (X11; Linux x86_64) Shop","campaign":"autumn-24",)"
    R"("tags":["gift","first-order","newsletter"],"score":0.8731}})";

// The same, indented: twice as long, and half of it white space.
std::string indented(std::string_view compact) {
  std::string text;
  std::size_t depth = 0;
  bool quoted = false;
  const auto line = [&] { text.append("\n").append(2 * depth, ' '); };
  for (std::size_t i = 0; i < compact.size(); ++i) {
    const char c = compact[i];
    if (c == '"' && compact[i - 1] != '\\') quoted = !quoted;
    if (!quoted && (c == '}' || c == ']')) --depth, line();
    text.push_back(c);
    if (!quoted && (c == '{' || c == '[')) ++depth, line();
    if (!quoted && c == ',') line();
    if (!quoted && c == ':') text.push_back(' ');
  }
  return text;
}

// Documents of about `bytes` bytes.
std::string list_of(std::string_view item, std::size_t bytes) {
  std::string text = "[";
  while (text.size() + item.size() < bytes) text.append(item).append(",");
  return text.append(item).append("]");
}

std::string typical_list(std::size_t bytes) {
  return list_of(typical, bytes);
}
std::string indented_list(std::size_t bytes) {
  return list_of(indented(typical), bytes);
}
std::string nested_arrays(std::size_t bytes) {
  return list_of(std::string(63, '[') + std::string(63, ']'), bytes);
}
std::string too_deep(std::size_t bytes) {
  return std::string(bytes / 2, '[') + std::string(bytes / 2, ']');
}
std::string long_number(std::size_t bytes) {
  return std::string(bytes, '7');
}
std::string long_fraction(std::size_t bytes) {
  return "1." + std::string(bytes, '0');
}
std::string long_string(std::size_t bytes) {
  return '"' + std::string(bytes, 'x') + '"';
}
std::string escaped_string(std::size_t bytes) {
  std::string text = "\"";
  while (text.size() < bytes) text.append("\\u00e9\\n\\ud83d\\ude02");
  return text + '"';
}
std::string chinese_string(std::size_t bytes) {
  std::string text = "\"";
  while (text.size() < bytes) text.append("幂等性");
  return text + '"';
}

// One object with a member for every ten bytes: 100,000 of them in 1 MiB. `sorted` or shuffled, always the same way.
enum class Order { sorted, shuffled };
std::string members(std::size_t bytes, Order order) {
  std::vector<std::uint32_t> names(bytes / 10);
  std::iota(names.begin(), names.end(), 0x10000U);
  if (order == Order::shuffled) std::ranges::shuffle(names, std::mt19937(1));
  std::string text = "{";
  for (const std::uint32_t name : names) {
    constexpr std::string_view digits = "0123456789abcdef";
    text.append(text.size() > 1 ? ",\"" : "\"");
    for (unsigned shift = 20; shift > 0; shift -= 4) text.push_back(digits[(name >> (shift - 4)) & 15U]);
    text.append("\":1");
  }
  return text.append("}");
}
std::string sorted_members(std::size_t bytes) {
  return members(bytes, Order::sorted);
}
std::string shuffled_members(std::size_t bytes) {
  return members(bytes, Order::shuffled);
}

// Objects in objects, each out of order, with everything in the innermost: 64 sorts over the same bytes.
std::string deep_reordering(std::size_t bytes) {
  std::string text;
  for (int depth = 0; depth < 64; ++depth) text.append("{\"b\":1,\"a\":");
  return text + long_string(bytes) + std::string(64, '}');
}

void per_byte(benchmark::State& state, const std::string& body) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(body.size()));
  state.counters["ns_per_byte"] =
      benchmark::Counter(static_cast<double>(body.size()) * static_cast<double>(state.iterations()) / 1e9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void sha256_of(benchmark::State& state, const std::string& body) {
  for (auto _ : state) benchmark::DoNotOptimize(semel::core::sha256(body));
  per_byte(state, body);
}

void canonical_of(benchmark::State& state, const std::string& body) {
  for (auto _ : state) benchmark::DoNotOptimize(semel::core::json::canonical_json(body));
  per_byte(state, body);
}

void fingerprint_of(benchmark::State& state, const std::string& body, const semel::IgnoreList& ignore) {
  const semel::Request request{.method = "POST", .target = "/v1/orders", .body = body};
  for (auto _ : state) benchmark::DoNotOptimize(semel::fingerprint(request, semel::BodyForm::json, ignore));
  per_byte(state, body);
}

using Shape = std::string (*)(std::size_t bytes);

void grows(const std::string& name, Shape shape) {
  benchmark::RegisterBenchmark(
      ("Canonical/" + name).c_str(),
      [shape](benchmark::State& state) { canonical_of(state, shape(static_cast<std::size_t>(state.range(0)))); })
      ->Arg(64 << 10)
      ->Arg(256 << 10)
      ->Arg(1 << 20)
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  // A server under load keeps its memory; here glibc would give it back between two rounds of a large body, and the
  // figures would be of page faults.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;

  const std::string compact(typical);
  const std::string spaced = indented(typical);
  const semel::IgnoreList sent_at = *semel::IgnoreList::parse({"/order/placed_at", "/metadata/ip"});
  benchmark::RegisterBenchmark("Sha256/typical", sha256_of, compact);
  benchmark::RegisterBenchmark("Canonical/typical", canonical_of, compact);
  benchmark::RegisterBenchmark("Fingerprint/typical", fingerprint_of, compact, semel::IgnoreList{});
  benchmark::RegisterBenchmark("Fingerprint/typical_with_ignore", fingerprint_of, compact, sent_at);
  benchmark::RegisterBenchmark("Sha256/indented", sha256_of, spaced);
  benchmark::RegisterBenchmark("Fingerprint/indented", fingerprint_of, spaced, semel::IgnoreList{});

  grows("typical_list", typical_list);
  grows("indented_list", indented_list);
  grows("nested_arrays", nested_arrays);
  grows("too_deep", too_deep);
  grows("long_number", long_number);
  grows("long_fraction", long_fraction);
  grows("long_string", long_string);
  grows("escaped_string", escaped_string);
  grows("chinese_string", chinese_string);
  grows("sorted_members", sorted_members);
  grows("shuffled_members", shuffled_members);
  grows("deep_reordering", deep_reordering);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
