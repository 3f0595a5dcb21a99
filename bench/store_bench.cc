// What a claim and its completion cost on the embedded store, beside what the disk costs.
//
//   store_bench fill PATH KEYS                            puts KEYS finished records into the store at PATH
//   store_bench settle PATH                               opens it and waits until the engine has tidied up
//   store_bench pairs PATH CALLERS[,CALLERS…] ROUNDS MS   each round: fdatasync alone, then pairs with so many callers
//
// Prints one JSON object. A pair is a claim of a new key and its completion with 512 bytes, both durable. The disk is
// measured in the same round, on the same file system, by appending 4 KiB and calling fdatasync in a loop. CPU time is
// all that the process used, callers and compaction included; "with_debt" adds what the engine still has to tidy up
// when the last round is over.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "store/embedded/ledger.h"
#include "store/embedded/rocks_ledger.h"
#include <semel/store.h>
#include <semel/stores.h>

namespace {

using namespace semel;
using Steady = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::size_t fill_batch = 2000;
constexpr std::size_t response_bytes = 512;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "store_bench: %s\n", why.c_str());
  std::exit(1);
}

template <class T>
T need(Result<T> result) {
  if (!result) give_up(result.error().detail);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// Keys as hashes make them: no two alike, in no order. Cheap, so that what is measured is the store.
class Keys {
 public:
  explicit Keys(std::uint64_t seed) : state_(seed) {}

  Key next() {
    Key key{.id = {}, .scope = {}, .space = "bench"};
    for (std::size_t at = 0; at < key.id.size(); at += sizeof(std::uint64_t)) {
      const std::uint64_t word = mix();
      std::memcpy(key.id.data() + at, &word, sizeof(word));
    }
    return key;
  }
  std::uint64_t mix() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }

 private:
  std::uint64_t state_;
};

SharedResponse typical_response(Keys& keys) {
  auto response = std::make_shared<Response>();
  response->status = 201;
  response->fields = {{"Content-Type", "application/json"}};
  while (response->body.size() < response_bytes) response->body += std::to_string(keys.mix());
  response->body.resize(response_bytes);
  return response;
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

double raw_syncs_per_second(const std::filesystem::path& folder, Seconds span) {
  const std::filesystem::path path = folder.parent_path() / "fdatasync.tmp";
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) give_up("cannot write beside the store");
  const std::string page(4096, 'x');
  std::size_t syncs = 0;
  const auto start = Steady::now();
  while (Steady::now() - start < span) {
    if (::write(file, page.data(), page.size()) < 0 || ::fdatasync(file) != 0) give_up("the disk refused a write");
    ++syncs;
  }
  const Seconds spent = Steady::now() - start;
  ::close(file);
  std::filesystem::remove(path);
  return static_cast<double>(syncs) / spent.count();
}

struct Load {
  Store& store;
  SharedResponse response;
  Keys keys;
  Steady::time_point until;
  std::size_t pairs = 0;
};

Task<void> caller(Load* load) {
  while (Steady::now() < load->until) {
    const Key key = load->keys.next();
    const Fingerprint fingerprint;
    const Terms terms{.owner = load->keys.mix()};
    Result<Claim> claim = co_await load->store.claim(key, fingerprint, terms);
    const Claim got = need(std::move(claim));
    const Fence fence = std::get<Granted>(got).fence;
    Result<void> completed = co_await load->store.complete(key, fence, load->response);
    need(std::move(completed));
    ++load->pairs;
  }
}

struct Figures {
  std::size_t callers;
  double syncs_per_s;
  double pairs;
  double seconds;
  double cpu_seconds;
};

Figures measure(Store& store, Keys& keys, const std::filesystem::path& path, std::size_t callers, Seconds span) {
  const double syncs = raw_syncs_per_second(path, span / 3);
  Load load{store, typical_response(keys), Keys(keys.mix()), {}};
  boost::asio::io_context context(1);
  const double cpu = cpu_seconds();
  const auto start = Steady::now();
  load.until = start + std::chrono::duration_cast<Steady::duration>(span);
  for (std::size_t i = 0; i < callers; ++i) {
    boost::asio::co_spawn(context.get_executor(), caller(&load), [](const std::exception_ptr& error) {
      if (error) std::rethrow_exception(error);
    });
  }
  context.run();
  const Seconds spent = Steady::now() - start;
  return {.callers = callers,
          .syncs_per_s = syncs,
          .pairs = static_cast<double>(load.pairs),
          .seconds = spent.count(),
          .cpu_seconds = cpu_seconds() - cpu};
}

int fill(const std::filesystem::path& path, std::size_t count) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  const auto ledger = need(store::embedded::RocksLedger::open(*clock, {.path = path}));
  Keys keys(count);
  const SharedResponse response = typical_response(keys);
  std::vector<store::embedded::Change> changes;
  for (std::size_t done = 0; done < count; done += changes.size()) {
    changes.clear();
    const Time now = ledger->clock().now();
    for (std::size_t i = 0; i < std::min(fill_batch, count - done); ++i) {
      Record record;
      record.key = keys.next();
      record.state = Record::State::done;
      record.fence = {.number = 1, .owner = keys.mix()};
      record.claimed_at = now;
      record.lease_until = now + Millis{30'000};
      record.expires_at = now + Millis{86'400'000};
      record.response = response;
      changes.push_back({.id = record.key.id, .record = std::move(record), .replaced_expiry = std::nullopt});
    }
    need(ledger->commit(changes));
  }
  std::printf("{\"filled\": %zu}\n", count);
  return 0;
}

// The engine goes on compacting what was put in. Returns what that took.
double cpu_seconds_until_quiet() {
  const double start = cpu_seconds();
  for (int quiet = 0; quiet < 3;) {
    const double before = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    quiet = cpu_seconds() - before < 0.02 ? quiet + 1 : 0;
  }
  return cpu_seconds() - start;
}

// A store that has been in use for long has no debt from being filled.
int settle(const std::filesystem::path& path) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  const auto ledger = need(store::embedded::RocksLedger::open(*clock, {.path = path}));
  (void)cpu_seconds_until_quiet();
  std::printf("{\"settled\": true}\n");
  return 0;
}

int pairs(const std::filesystem::path& path, const std::string& callers, int rounds, Seconds span) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  const auto start = Steady::now();
  const std::unique_ptr<Store> store = need(open_embedded_store(*clock, {.path = path})).store;
  const Seconds opened = Steady::now() - start;
  Keys keys(static_cast<std::uint64_t>(start.time_since_epoch().count()));
  std::printf("{\"open_s\": %.3f, \"rounds\": [", opened.count());
  const char* separator = "";
  double total_pairs = 0;
  double total_cpu = 0;
  for (int round = 0; round < rounds; ++round) {
    std::stringstream list(callers);
    for (std::string number; std::getline(list, number, ',');) {
      const Figures f = measure(*store, keys, path, std::stoul(number), span);
      std::printf("%s\n  {\"callers\": %zu, \"syncs_per_s\": %.1f, \"pairs_per_s\": %.1f, \"cpu_us_per_pair\": %.3f}",
                  separator, f.callers, f.syncs_per_s, f.pairs / f.seconds, f.cpu_seconds * 1e6 / f.pairs);
      separator = ",";
      total_pairs += f.pairs;
      total_cpu += f.cpu_seconds;
    }
  }
  const double memory = rss_mebibytes();
  total_cpu += cpu_seconds_until_quiet();
  std::printf("], \"rss_mib\": %.1f, \"pairs\": %.0f, \"cpu_s_with_debt\": %.3f}\n", memory, total_pairs, total_cpu);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() == 3 && args[0] == "fill") return fill(args[1], std::stoul(args[2]));
  if (args.size() == 2 && args[0] == "settle") return settle(args[1]);
  if (args.size() == 5 && args[0] == "pairs") {
    return pairs(args[1], args[2], std::stoi(args[3]), std::chrono::milliseconds(std::stoi(args[4])));
  }
  give_up("fill PATH KEYS | settle PATH | pairs PATH CALLERS[,CALLERS...] ROUNDS MS");
}
