// The list of stores under contract. A new store is one more row in all_backends(), and a Place if it keeps records.

#include "store/backends.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#ifdef SEMEL_HAS_POSTGRES
#include "store/postgres/admin.h"
#include "support/pgbouncer.h"
#include "support/postgres_server.h"
#endif
#include "core/crypto.h"
#include "core/identity.h"
#include "store/capable_store.h"
#include "store/embedded/store.h"
#include "store/memory.h"
#include "store/redis/admin.h"
#include "store/sealed_store.h"
#include "support/redis_cluster.h"
#include "support/redis_server.h"
#include "support/redis_set.h"
#include <semel/stores.h>

namespace semel::test {
namespace {

class NoPlace : public Place {
 public:
  store::CapableStore open(Clock& clock) override { return store::make_capable_memory_store(clock); }
  // Nothing of it is at rest, but the rest of the contract holds under any names.
  store::CapableStore open_with(Clock& clock, const std::vector<core::AesKey>& /*keys*/) {
    store::CapableStore opened = open(clock);
    opened.identity = core::StoreIdentity{5, 4, 3};
    return opened;
  }
};

// A folder of its own, gone with everything in it when the test ends.
class Folder : public Place {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "semel-store-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder: " + pattern);
    path_ = pattern;
  }
  ~Folder() override {
    std::error_code ignored;  // the folder is as good as gone, and a destructor must not throw
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  store::CapableStore open(Clock& clock) override { return open_with(clock, {}); }

  store::CapableStore open_with(Clock& clock, const std::vector<core::AesKey>& keys) {
    EmbeddedOptions options;
    options.path = path_ / "data";
    Result<store::CapableStore> store = store::embedded::open_with_keys(clock, options, keys);
    if (!store) throw std::runtime_error("the embedded store does not open: " + store.error().detail);
    return std::move(*store);
  }

 private:
  std::filesystem::path path_;
};

// Whatever `Inner` is, with its responses encrypted, and its keys named by an identity.
template <class Inner>
class Sealed : public Place {
 public:
  template <class... Arguments>
  explicit Sealed(Arguments... arguments) : inner_(std::move(arguments)...) {}

  store::CapableStore open(Clock& clock) override {
    const std::vector<core::AesKey> keys{core::AesKey{7}, core::AesKey{8}};
    store::CapableStore opened = inner_.open_with(clock, keys);
    if (!opened.identity) throw std::runtime_error("the store has no identity");
    return store::make_sealed_store(std::move(opened), keys, store::Unsealed::refused);
  }

 private:
  Inner inner_;
};

#ifdef SEMEL_HAS_POSTGRES

// A database of the program's own server, emptied.
class Database : public Place {
 public:
  Database(std::string url, const std::string& name) : url_(std::move(url)) {
    PostgresServer::shared().run("TRUNCATE semel.keys, semel.objects, semel.doubts, semel.history, semel.notes", name);
  }

  store::CapableStore open(Clock& clock) override { return open_with(clock, {}); }

  store::CapableStore open_with(Clock& clock, const std::vector<core::AesKey>& keys) {
    PostgresOptions options;
    options.urls = {url_};
    Result<store::CapableStore> store = store::postgres::open_with_keys(clock, options, keys);
    if (!store) throw std::runtime_error("the PostgreSQL store does not open: " + store.error().detail);
    return std::move(*store);
  }

 private:
  std::string url_;
};

// The others settle on plain hashes, so the encrypted ones have a database of their own.
std::unique_ptr<Place> sealed_database() {
  static const std::string name = [] {
    const std::string url = PostgresServer::shared().fresh_database();
    return url.substr(url.find("test_"), url.find('?') - url.find("test_"));
  }();
  return std::make_unique<Sealed<Database>>(PostgresServer::shared().url(name), name);
}

#endif

// A database of a Redis server, emptied and prepared. `url` leads to that server.
class RedisDatabase : public Place {
 public:
  explicit RedisDatabase(const RedisServer& server, std::string url, unsigned number = 0) {
    options_.url = std::move(url);
    options_.fsync = core::RedisFsync::everysec;
    server.run({"FLUSHDB"}, number);
    prepare();
  }
  explicit RedisDatabase(const RedisCluster& cluster) {
    options_.url = cluster.url();
    options_.fsync = core::RedisFsync::everysec;
    cluster.run_everywhere({"FLUSHALL"});
    prepare();
  }

  store::CapableStore open(Clock& clock) override { return open_with(clock, {}); }

  store::CapableStore open_with(Clock& clock, const std::vector<core::AesKey>& keys) {
    Result<store::CapableStore> store = store::redis::open_with_keys(clock, options_, keys);
    if (!store) throw std::runtime_error("the Redis store does not open: " + store.error().detail);
    return std::move(*store);
  }

 private:
  void prepare() {
    const std::unique_ptr<Clock> clock = make_system_clock();
    const Result<bool> prepared = store::redis::prepare_redis(*clock, options_);
    if (!prepared) throw std::runtime_error("Redis could not be prepared: " + prepared.error().detail);
  }

  store::redis::RedisOptions options_;
};

void add_redis(std::vector<Backend>& all) {
  const auto add = [&](std::string name, std::function<std::unique_ptr<Place>()> make) {
    all.push_back(
        {std::move(name), Timing::real, Memory::keeps, std::move(make), Reclaiming::by_itself, Telling::none});
  };
  add("redis", [] { return std::make_unique<RedisDatabase>(RedisServer::shared(), RedisServer::shared().url()); });
  add("redis_encrypted", [] {
    return std::make_unique<Sealed<RedisDatabase>>(std::cref(RedisServer::shared()), RedisServer::shared().url(1), 1U);
  });
  add("redis_tls", [] {
    return std::make_unique<RedisDatabase>(RedisBehindTls::shared().server(), RedisBehindTls::shared().url());
  });
  add("redis_cluster", [] { return std::make_unique<RedisDatabase>(RedisCluster::shared()); });
  add("redis_sentinel", [] {
    return std::make_unique<RedisDatabase>(RedisWithSentinel::shared().primary(), RedisWithSentinel::shared().url());
  });
}

}  // namespace

void PrintTo(const Backend& backend, std::ostream* out) {
  *out << backend.name;
}

std::vector<Backend> all_backends() {
  std::vector<Backend> all{
      {"memory", Timing::turned, Memory::forgets, [] { return std::make_unique<NoPlace>(); }},
      // The same store on a clock that cannot be turned: keeps the waiting form of the tests honest.
      {"memory_in_real_time", Timing::real, Memory::forgets, [] { return std::make_unique<NoPlace>(); }},
      {"embedded", Timing::turned, Memory::keeps, [] { return std::make_unique<Folder>(); }},
      {"memory_encrypted", Timing::turned, Memory::forgets, [] { return std::make_unique<Sealed<NoPlace>>(); }},
      {"embedded_encrypted", Timing::turned, Memory::keeps, [] { return std::make_unique<Sealed<Folder>>(); }},
  };
#ifdef SEMEL_HAS_POSTGRES
  all.push_back({"postgres", Timing::real, Memory::keeps,
                 [] { return std::make_unique<Database>(PostgresServer::shared().url(), "postgres"); }});
  all.push_back({"postgres_by_pgbouncer", Timing::real, Memory::keeps,
                 [] { return std::make_unique<Database>(PgBouncer::shared().url(), "postgres"); }});
  all.push_back({"postgres_encrypted", Timing::real, Memory::keeps, [] { return sealed_database(); }});
#endif
  add_redis(all);
  return all;
}

std::vector<Backend> backends_with(Timing timing) {
  std::vector<Backend> found = all_backends();
  std::erase_if(found, [&](const Backend& backend) { return backend.timing != timing; });
  return found;
}

std::vector<Backend> backends_with(Memory memory) {
  std::vector<Backend> found = all_backends();
  std::erase_if(found, [&](const Backend& backend) { return backend.memory != memory; });
  return found;
}

std::vector<Backend> backends_with(Telling telling) {
  std::vector<Backend> found = all_backends();
  std::erase_if(found, [&](const Backend& backend) { return backend.telling != telling; });
  return found;
}

}  // namespace semel::test
