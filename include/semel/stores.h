// The stores that come with Semel.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <semel/clock.h>
#include <semel/endings.h>
#include <semel/reopening.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel {

// An opened store, and what it can do beside the five calls of Store. A pointer is null if the store cannot do that;
// otherwise it points to a part of `store` and is valid as long as the store lives.
//
//   const auto opened = semel::open_embedded_store(*clock, {.path = "semel-data"});
//   if (!opened) return fail(opened.error());
//   semel::Once once(*opened->store, *clock, seed);
struct OpenedStore {
  std::unique_ptr<Store> store;    // never null
  Endings* endings = nullptr;      // wakes callers that wait for a key of another process; give it to Once
  Reopening* reopening = nullptr;  // makes a key that has ended run again
};

// `memory:` The reference, for tests: every other store must behave like this one. Forgets everything when destroyed.
OpenedStore make_memory_store(Clock& clock);

struct EmbeddedOptions {
  std::filesystem::path path;
  std::uint64_t free_bytes_min = 64U << 20U;  // below this much free disk space no claim is granted (Code::full)
  std::size_t cache_bytes = 64U << 20U;       // of blocks read from disk
  // Called for every commit that reached the disk, with the number of records that it wrote and its duration. It is
  // called on the store's own thread, for which every caller waits: it must be quick and must not throw.
  std::function<void(std::size_t writes, std::chrono::nanoseconds took)> on_commit = {};
};

// `embedded:PATH` RocksDB in a folder that one process owns. Every answer is on disk before it is given. `clock` must
// outlive the store.
//
// Destroy it before the io_contexts whose coroutines use it; calls that are under way then end with Code::unavailable.
// After a failed write or sync the store stops: every later call ends with Code::unavailable until the store is opened
// again, because only reading it back can tell what the disk holds.
// Code::unavailable: the folder cannot be used (another process owns it, permissions). Code::corrupt: it is damaged;
// the message says how. Nothing is deleted or repaired silently. Code::invalid: it was made by a gateway with
// encryption keys, and nobody else can read it.
Result<OpenedStore> open_embedded_store(Clock& clock, EmbeddedOptions options);

struct PostgresOptions {
  std::vector<std::string> urls;  // as libpq accepts them; several are shards
  Millis time_max{5'000};         // a call without an answer for this long ends with Code::unavailable
  std::size_t connections = 2;    // to each server; more make batches smaller
  // A folder that outlives the process. A small file per database says there which primary was the last one, so that a
  // former primary is refused also after a restart. Empty: that is remembered only while the store is open.
  std::filesystem::path state_folder = {};
  // Called for every commit that was answered, with the number of its calls and the time that it took, as seen from
  // here. As for the embedded store; with several servers it is called on several threads.
  std::function<void(std::size_t calls, std::chrono::nanoseconds took)> on_commit = {};
};

// `postgres://…` A PostgreSQL server that any number of processes share; also through PgBouncer in transaction mode. In
// the library semel::postgres, which needs libpq. The database must have been prepared (see semel/postgres.h).
//
// Tells time by the server's clock. `clock` only measures how long an answer takes. While the server cannot be reached,
// claims end with Code::unavailable at once, and the ends of claims wait for it up to `time_max`. When it is back,
// nothing has to be restarted. Destroy it like the embedded store.
// Code::unavailable: no server, a replica, or a schema that this version does not know; the message says which.
// Code::invalid: the urls are not a set of shards, or gateways with encryption keys use the database.
Result<OpenedStore> open_postgres_store(Clock& clock, const PostgresOptions& options);

}  // namespace semel
