// `semel migrate`: prepares the database of a PostgreSQL store, or brings it up to date; prepares a Redis server.
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/load.h"
#include "cli/stores.h"
#include "config/config.h"
#include "core/redis_url.h"
#include "store/redis/admin.h"
#include "store/redis/options.h"
#include <semel/clock.h>
#include <semel/result.h>
#ifdef SEMEL_HAS_POSTGRES
#include "outbox/migrate.h"
#include "reading/secret.h"
#include "store/postgres/admin.h"
#include <semel/postgres.h>
#endif

namespace semel::cli {
namespace {

struct MigrateOptions {
  std::string config;
  std::vector<std::string> urls;
  bool print_sql = false;
  bool outbox = false;
  std::string writer;
  std::string mover;
};

int migrate_redis(const store::redis::RedisOptions& options) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  const Result<bool> prepared = store::redis::prepare_redis(*clock, options);
  if (!prepared) {
    fmt::print(stderr, "semel: {}\n", prepared.error().detail);
    return 1;
  }
  fmt::print("{}\n", *prepared ? "the Redis server is prepared" : "the Redis server was prepared before");
  return 0;
}

#ifdef SEMEL_HAS_POSTGRES

int migrate_each(const std::vector<std::string>& urls) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  int status = 0;
  for (const std::string& url : urls) {
    const Result<Migrated> migrated = migrate_postgres(*clock, url);
    if (!migrated) {
      fmt::print(stderr, "semel: {}\n", migrated.error().detail);
      status = 1;
    } else if (migrated->from == migrated->to) {
      fmt::print("the schema is up to date (version {})\n", migrated->to);
    } else {
      fmt::print("the schema went from version {} to version {}\n", migrated->from, migrated->to);
    }
  }
  if (status != 0) return status;
  const Result<void> joined = store::postgres::join_postgres_shards(*clock, urls);
  if (!joined) fmt::print(stderr, "semel: {}\n", joined.error().detail);
  return joined ? 0 : 1;
}

int print_sql() {
  fmt::print("{}", store::postgres::postgres_schema_sql());
  return 0;
}

int migrate_databases(const config::Config& config) {
  std::vector<std::string> urls;
  urls.reserve(config.store.urls.size());
  for (const reading::Secret& url : config.store.urls) urls.push_back(url.reveal());
  return migrate_each(urls);
}

int migrate_outboxes(const MigrateOptions& options) {
  const outbox::OutboxRoles roles{.writer = options.writer, .mover = options.mover};
  if (options.print_sql) {
    fmt::print("{}", outbox::outbox_script(roles));
    return 0;
  }
  std::vector<std::string> urls = options.urls;
  if (urls.empty()) {
    const auto config = load_config(options.config);
    if (config == nullptr) return 1;
    for (const config::OutboxConfig& each : config->outboxes) urls.push_back(each.database.reveal());
    if (urls.empty()) fmt::print(stderr, "semel: the configuration has no [[outbox]]; there is nothing to migrate\n");
    if (urls.empty()) return 1;
  }
  const std::unique_ptr<Clock> clock = make_system_clock();
  int status = 0;
  for (const std::string& url : urls) {
    const Result<outbox::OutboxMigrated> migrated = outbox::migrate_outbox(*clock, url, roles);
    if (!migrated) {
      fmt::print(stderr, "semel: {}\n", migrated.error().detail);
      status = 1;
    } else if (migrated->from == migrated->to) {
      fmt::print("the outbox is up to date (version {})\n", migrated->to);
    } else {
      fmt::print("the outbox went from version {} to version {}\n", migrated->from, migrated->to);
    }
  }
  return status;
}

#else

int migrate_outboxes(const MigrateOptions& /*options*/) {
  fmt::print(stderr, "semel: an outbox needs PostgreSQL, which this build was made without\n");
  return 1;
}

int print_sql() {
  fmt::print(stderr, "semel: this build has no PostgreSQL store\n");
  return 1;
}
int migrate_each(const std::vector<std::string>& /*urls*/) {
  return print_sql();
}
int migrate_databases(const config::Config& /*config*/) {
  return print_sql();
}

#endif

int migrate(const MigrateOptions& options) {
  if (options.config.empty() && options.urls.empty() && !options.print_sql) {
    fmt::print(stderr, "semel: migrate needs a configuration file, --url URL, or --print-sql\n");
    return 2;
  }
  if (options.outbox) return migrate_outboxes(options);
  if (options.print_sql) return print_sql();
  if (options.urls.size() == 1 && options.urls.front().starts_with("redis")) {
    store::redis::RedisOptions redis;
    redis.url = options.urls.front();
    redis.fsync = core::RedisFsync::unknown;  // that is for the configuration to say
    return migrate_redis(redis);
  }
  if (!options.urls.empty()) return migrate_each(options.urls);
  const auto config = load_config(options.config);
  if (config == nullptr) return 1;
  if (is_redis(config->store.kind)) return migrate_redis(redis_options(*config));
  if (config->store.kind == config::StoreKind::postgres) return migrate_databases(*config);
  fmt::print(stderr, "semel: store.url is neither a PostgreSQL nor a Redis store; there is nothing to migrate\n");
  return 1;
}

}  // namespace

void add_migrate(CLI::App& app, Command& run) {
  auto options = std::make_shared<MigrateOptions>();
  CLI::App* command = app.add_subcommand("migrate", "Prepare the server of a PostgreSQL or Redis store");
  CLI::Option* file = command->add_option("-c,--config", options->config, "Configuration file that names the store");
  CLI::Option* url = command->add_option(
      "--url", options->urls,
      "Address of the database, of each shard, or of the Redis server; a password is better left to .pgpass");
  CLI::Option* print = command->add_flag("--print-sql", options->print_sql, "Print the SQL and change nothing");
  file->excludes(url);
  print->excludes(file)->excludes(url);
  CLI::Option* outbox = command->add_flag(
      "--outbox", options->outbox, "Prepare the database of a program, for semel.send(), instead of Semel's own store");
  command->add_option("--writer", options->writer, "With --outbox: a role that may send")->needs(outbox);
  command->add_option("--mover", options->mover, "With --outbox: a role that may move, for the gateway")->needs(outbox);
  command->callback([options, &run] { run = [options] { return migrate(*options); }; });
}

}  // namespace semel::cli
