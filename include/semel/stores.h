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
#include <semel/result.h>
#include <semel/store.h>

namespace semel {

// `memory:` The reference: what every other store must behave like. Forgets everything when it is destroyed; for tests.
std::unique_ptr<Store> make_memory_store(Clock& clock);

struct EmbeddedOptions {
  std::filesystem::path path;
  std::uint64_t free_bytes_min = 64U << 20U;  // below this much free disk space no claim is granted (Code::full)
  std::size_t cache_bytes = 64U << 20U;       // of blocks read from disk
  // Told of every commit that reached the disk: how many records it wrote, and how long it took. Called on the store's
  // own thread, which everybody waits for: it must be quick, and must not throw.
  std::function<void(std::size_t writes, std::chrono::nanoseconds took)> on_commit = {};
};

// `embedded:PATH` RocksDB in a folder that one process owns. Every answer is on disk before it is given.
//
// Destroy it before the io_contexts whose coroutines use it; calls that are under way then end with Code::unavailable.
// After a failed write or sync the store stops: every later call ends with Code::unavailable until it is opened again,
// because what the disk then holds can only be learnt by reading it back.
// Code::unavailable: the folder cannot be used (another process owns it, permissions). Code::corrupt: it holds damage
// that must not be papered over; the message names it. Nothing is deleted or repaired silently. Code::invalid: it was
// made by a gateway with encryption keys, which nobody else can read.
Result<std::unique_ptr<Store>> open_embedded_store(Clock& clock, EmbeddedOptions options);

struct PostgresOptions {
  std::vector<std::string> urls;  // as libpq takes them; several are shards
  Millis time_max{5'000};         // after which a call that has no answer ends with Code::unavailable
  std::size_t connections = 2;    // to each server; more make batches smaller
  // Told of every commit that was answered: how many calls it was for, and how long that took from here. As of the
  // embedded store; with several servers it is called on several threads.
  std::function<void(std::size_t calls, std::chrono::nanoseconds took)> on_commit = {};
};

// `postgres://…` A PostgreSQL server that any number of processes share; also by way of PgBouncer in transaction mode.
// In the library semel::postgres, which needs libpq. The database must have been prepared (see semel/postgres.h).
//
// Tells time by the server's clock. `clock` only measures how long an answer takes.
// While the server cannot be reached, claims end with Code::unavailable at once, and outcomes wait for it until their
// time is up; nothing has to be restarted when it is back. Destroy it as the embedded store.
// Code::unavailable: no server, a replica, or a schema that this version does not know; the message says which.
// Code::invalid: the urls are not a set of shards, or gateways with encryption keys use the database.
Result<std::unique_ptr<Store>> open_postgres_store(Clock& clock, const PostgresOptions& options);

}  // namespace semel
